export function short(value: number, unit = ""): string {
  const letters = ["", "k", "M", "G", "T", "P"];
  let place = 0;
  while (Math.abs(value) >= 999.5 && place < letters.length - 1) { value /= 1000; place++; }
  const digits = place === 0 ? (Number.isInteger(value) ? 0 : Math.abs(value) < 0.1 ? 3 : 1) : value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const tail = `${letters[place]}${unit}`;
  return tail ? `${value.toFixed(digits)} ${tail}` : value.toFixed(digits);
}

export const bytes = (value: number): string => short(value, "B");
export const share = (value: number): string => `${(100 * value).toFixed(value === 0 ? 0 : value < 0.001 ? 2 : value < 0.1 ? 1 : 0)} %`;

export function seconds(value: number): string {
  if (value >= 5400) return `${(value / 3600).toFixed(1)} h`;
  if (value >= 120) return `${(value / 60).toFixed(1)} min`;
  if (value >= 1) return `${value.toFixed(value < 10 ? 2 : 0)} s`;
  if (value >= 1e-3) return `${(value * 1e3).toFixed(1)} ms`;
  return value === 0 ? "0 s" : `${(value * 1e6).toFixed(1)} us`;
}

// Dates and times have one form everywhere, whatever the browser's language: 2026-11-26 14:31:05, in the browser's zone.
const two = (value: number): string => String(value).padStart(2, "0");

export function day(time: number): string {
  const when = new Date(time * 1000);
  return `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
}

export function clock(time: number): string {
  const when = new Date(time * 1000);
  return `${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
}

export const date = (time: number): string => `${day(time)} ${clock(time)}`;

/** Both ends of a stretch of time; the day of the second only if it differs. */
export const stretch = (begin: number, end: number): string => `${date(begin)} to ${day(begin) === day(end) ? clock(end) : date(end)}`;
