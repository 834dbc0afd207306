"""A change of schedules: the ground it is judged on, the judgement, and the version that is written."""
