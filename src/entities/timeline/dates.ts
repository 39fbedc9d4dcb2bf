import { localTime } from '../../domain/time.ts'

/** `YYYY-MM-DD` in a zone, with the time unless it is midnight. */
export function dateText(atMs: number, zone: string): string {
  const { year, month, day, hour, minute, second } = localTime(zone, atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
  if (hour === 0 && minute === 0 && second === 0) return date
  return `${date} ${two(hour)}:${two(minute)}:${two(second)}`
}
