"""Numbers of the device."""

from ...target import num_sms

__all__ = ["get_num_sms"]


def get_num_sms(device_id=0):
    """Multiprocessors of the first GPU; without one, cores of the CPU."""
    return num_sms()
