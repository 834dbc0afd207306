"""From a zone's situation to its plan, arrays in and arrays out: netting, spreading, what stays of the plan before."""
