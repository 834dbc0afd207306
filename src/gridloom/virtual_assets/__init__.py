"""Virtual batteries: blocks of their power, schedules, the energy that follows, and the batteries that back them."""
