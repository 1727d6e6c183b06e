set(SUITE_PROGRAMS tw examples)
