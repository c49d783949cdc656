/** What constraints of every kind have: when they hold, and how much they count. */

export const WHEN = ["start", "end", "ease_in", "ease_out", "instants", "pauses"];
export const COUNTS = ["weight", "priority", "tolerance", "name"];
