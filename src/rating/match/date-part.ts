/** Parts of a date that a rule may compare (`preFunction`). */
import { type LocalTime, localTime, parseInstant } from '../../domain/time.ts'

const two = (value: number) => String(value).padStart(2, '0')

const PARTS = {
  /** 0 to 59. */
  minute_of_hour: ({ minute }) => String(minute),
  /** 0 to 23. */
  hour_of_day: ({ hour }) => String(hour),
  /** `HH:MM`. */
  time_of_day: ({ hour, minute }) => `${two(hour)}:${two(minute)}`,
  /** 1 (Monday) to 7, as in ISO 8601. */
  day_of_week: ({ year, month, day }) =>
    String(((new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7) + 1),
  /** 1 to 31. */
  day_of_month: ({ day }) => String(day),
  /** 1 to 12. */
  month_of_year: ({ month }) => String(month),
  /** `MM-DD`. */
  month_and_day: ({ month, day }) => `${two(month)}-${two(day)}`,
} as const satisfies Record<string, (time: LocalTime) => string>

export type DatePart = keyof typeof PARTS

export const DATE_PARTS = Object.keys(PARTS) as readonly DatePart[]

/** The part of an instant, in local time of the zone. */
export function datePart(part: DatePart, zone: string, atMs: number): string {
  return PARTS[part](localTime(zone, atMs))
}

/** Reads an instant of a request: Unix seconds, or a date in the zone. Null if it is neither. */
export function instantFrom(text: string, zone: string): number | null {
  if (/^\d{1,11}(?:\.\d+)?$/.test(text)) return Math.floor(Number(text) * 1000)
  return parseInstant(text, zone)
}
