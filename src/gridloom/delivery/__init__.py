"""From schedules to what batteries do: netting, spreading, dispatch, and what was delivered of it."""
