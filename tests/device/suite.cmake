# As generated code is compiled: signed integers wrap.
set(SUITE_OPTIONS -fwrapv)
