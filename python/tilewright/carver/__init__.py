"""Questions to the machine that schedules depend on."""
