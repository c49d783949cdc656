/** What did not change stays the very same object, so that what shows it is not drawn again. */

/** A value as plain data, in which every part that is as it was before is the part from before. */
export function shared<T>(before: unknown, value: T): T {
  if (Object.is(before, value)) return value;
  if (!isPlain(before) || !isPlain(value) || Array.isArray(before) !== Array.isArray(value)) return value;
  const old = before as Record<string, unknown>;
  const fresh = value as Record<string, unknown>;
  const keys = Object.keys(fresh);
  let same = keys.length === Object.keys(old).length;
  const parts = keys.map((key) => {
    const part = shared(old[key], fresh[key]);
    same = same && key in old && Object.is(part, old[key]);
    return [key, part] as const;
  });
  if (same) return before as T;
  return (Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts)) as T;
}

/** Whether it is a list or a table, and not a list of numbers of one type or the like. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const kind = Object.getPrototypeOf(value);
  return kind === Object.prototype || kind === Array.prototype;
}
