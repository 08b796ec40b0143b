export function short(value: number, unit = ""): string {
  const letters = ["", "k", "M", "G", "T", "P"];
  let place = 0;
  while (Math.abs(value) >= 999.5 && place < letters.length - 1) { value /= 1000; place++; }
  const digits = place === 0 ? (Number.isInteger(value) ? 0 : 1) : value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const tail = `${letters[place]}${unit}`;
  return tail ? `${value.toFixed(digits)} ${tail}` : value.toFixed(digits);
}

export const bytes = (value: number): string => short(value, "B");
export const share = (value: number): string => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;

export function seconds(value: number): string {
  if (value >= 5400) return `${(value / 3600).toFixed(1)} h`;
  if (value >= 120) return `${(value / 60).toFixed(1)} min`;
  if (value >= 1) return `${value.toFixed(value < 10 ? 2 : 0)} s`;
  if (value >= 1e-3) return `${(value * 1e3).toFixed(1)} ms`;
  return value === 0 ? "0 s" : `${(value * 1e6).toFixed(1)} us`;
}

export function clock(time: number): string {
  return new Date(time * 1000).toLocaleTimeString("en-GB");
}
