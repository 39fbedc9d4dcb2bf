/** Formats of dates that operators configure. */
import { localTime } from './time.ts'

/** Letters of both spellings: `YYYY-MM-DD HH:MM:SS`, and that of PHP, `Y-m-d H:i:s`. */
const PARTS = /YYYY|MM|DD|HH|SS|[YmdHis]/g

/** Whether the format has a date, and nothing but letters of dates, separators and `T`. */
export function isDateFormat(format: string): boolean {
  const rest = format.replaceAll(PARTS, '')
  return /^[-/. :T]*$/.test(rest) && /YYYY|Y/.test(format) && /MM|m/.test(format)
}

/**
 * An instant in local time. `MM` is the month, after the hours (`HH`) the minutes
 * (docs/EXTERNAL.md).
 */
export function formatDate(format: string, atMs: number, zone: string): string {
  const { year, month, day, hour, minute, second } = localTime(zone, atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  let isAfterHours = false
  return format.replaceAll(PARTS, (part) => {
    switch (part) {
      case 'YYYY':
      case 'Y':
        return String(year).padStart(4, '0')
      case 'DD':
      case 'd':
        return two(day)
      case 'HH':
      case 'H':
        isAfterHours = true
        return two(hour)
      case 'MM':
        return two(isAfterHours ? minute : month)
      case 'm':
        return two(month)
      case 'i':
        return two(minute)
      default:
        return two(second)
    }
  })
}
