// How people read figures: digit groups, plurals, and times of their own clock. Models get UTC. Pure but for the time zone
// of the process.

/** A number with digit groups, the same everywhere. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** Such as `1 item`, `12,000 items`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

const MINUTES_PER_HOUR = 60;

function padded(value: number): string {
  return String(value).padStart(2, "0");
}

/** Such as `UTC`, `UTC+1`, `UTC-3:30`. */
function zoneOf(time: Date): string {
  const east = -time.getTimezoneOffset();
  if (east === 0) return "UTC";
  const minutes = Math.abs(east);
  const rest = minutes % MINUTES_PER_HOUR;
  const hours = Math.floor(minutes / MINUTES_PER_HOUR);
  return `UTC${east > 0 ? "+" : "-"}${hours}${rest === 0 ? "" : `:${padded(rest)}`}`;
}

/** A time on the person's own clock, to the minute, with its zone; what is no time stays as it is. */
export function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const day = [time.getFullYear(), padded(time.getMonth() + 1), padded(time.getDate())].join("-");
  return `${day} ${padded(time.getHours())}:${padded(time.getMinutes())} ${zoneOf(time)}`;
}
