"""Virtual batteries: blocks of their power, schedules, the energy that follows, and what stands behind it."""
