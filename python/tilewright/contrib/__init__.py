"""Questions to toolchains."""
