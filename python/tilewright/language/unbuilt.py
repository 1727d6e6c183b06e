"""Words that authors may know from the TileLang language and that are not built yet."""

UNBUILT = frozenset(
    """
    get_thread_binding get_thread_bindings thread_binding get_lane_idx get_warp_idx get_warp_idx_sync
    get_warp_group_idx shuffle_elect alloc_barrier alloc_cluster_barrier alloc_tmem alloc_reducer alloc_descriptor
    alloc_wgmma_desc alloc_tcgen05_smem_desc alloc_tcgen05_instruction_desc deallocate_tmem alloc_buffer allocate
    tma_copy tma_load tma_load_2sm tma_store_wait tma_store_arrive create_tma_descriptor tma_gather4 tma_scatter4
    tma_gather4_bytes copy_cluster async_copy im2col c2d_im2col
    mbarrier_wait_parity mbarrier_arrive mbarrier_expect_tx mbarrier_arrive_expect_tx barrier_wait barrier_arrive
    sync_threads sync_warp sync_global sync_grid named_barrier_arrive fence_proxy_async cp_async_barrier_noinc
    ptx_cp_async ptx_commit_group ptx_wait_group ptx_mma ptx_ldmatrix ptx_wgmma_ss ptx_wgmma_rs ptx_mma_sm70
    ptx_arrive_cluster_barrier ws set_max_nreg inc_max_nreg dec_max_nreg 
    annotate_ws_schedule WSSchedule WSRole
    WSPipeline WSScope WSSync WSID ws_op cluster_arrive cluster_arrive_relaxed cluster_wait cluster_sync
    block_rank_in_cluster ClusterKernel CUDASourceCodeKernel PersistentTileScheduler clc_try_cancel
    clc_try_cancel_multicast clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z
    pdl_trigger pdl_sync wgmma_gemm wgmma_mma wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait
    warpgroup_fence_operand wgmma_gemm_sp gemm_sp tcgen05_gemm tcgen05_gemm_blockscaled tcgen05_mma_arrive
    tcgen05_cp_warpx4 tcgen05_sf_warp_transpose tcgen05_before_thread_sync tcgen05_after_thread_sync
    mma_gemm_blockscaled make_blockscaled_gemm_layout dp4a reducer_init reducer_update finalize_reducer
    warp_reduce_sum warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor comm_reducer
    tvm_thread_allreduce tvm_warp_shuffle shfl_xor shfl_down shfl_up shfl_sync any_sync all_sync ballot_sync ballot
    activemask match_any_sync match_all_sync syncthreads_count syncthreads_and syncthreads_or call_extern
    call_intrin import_source ptr make_tensor make_tensor_from_addr access_ptr address_of attr evaluate
    add2 sub2 mul2 fma2 max2 min2 abs2 rng_init rng_rand rng_rand_float index_to_coordinates undef extract_lane
    ldg32 ldg64 ldg128 ldg256 stg32 stg64 stg128 stg256 lds32 lds64 lds128 sts32 sts64 sts128
    
    inline meta_class Var TensorCoreIntrinEmitter
    """.split()
)
