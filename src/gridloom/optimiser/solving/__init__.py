"""The best schedule of batteries: the programme, its solution, and what leaves no way for one."""
