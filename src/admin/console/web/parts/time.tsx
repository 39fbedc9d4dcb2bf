/** Times: everywhere in the zone that the reader has chosen, with its name. */
import { nodeZone } from '../api/session.ts'
import { zoneChoice } from '../frame/choices.ts'
import { language, t } from '../words/words.ts'

/** Name of the IANA time zone in which times are shown. */
export function zoneName(): string {
  if (zoneChoice.value === 'utc') return 'UTC'
  if (zoneChoice.value === 'node') return nodeZone.value
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

export type TimePrecision = 'day' | 'minute' | 'second'

const FIELDS: Readonly<Record<TimePrecision, Intl.DateTimeFormatOptions>> = {
  day: { year: 'numeric', month: 'short', day: 'numeric' },
  minute: { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
  second: { dateStyle: 'medium', timeStyle: 'medium' },
}

/** `value`: ISO 8601, or ms. An unreadable text is returned as it is. */
export function formatTime(value: string | number, precision: TimePrecision = 'minute'): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return String(value)
  const options = { ...FIELDS[precision], timeZone: zoneName(), hourCycle: 'h23' } as const
  return new Intl.DateTimeFormat(language.value, options).format(date)
}

/** Time of day, for axes. */
export function formatClock(ms: number, hasSeconds = true): string {
  const options: Intl.DateTimeFormatOptions = {
    hour: '2-digit',
    minute: '2-digit',
    ...(hasSeconds && { second: '2-digit' }),
    hourCycle: 'h23',
    timeZone: zoneName(),
  }
  return new Intl.DateTimeFormat(language.value, options).format(ms)
}

interface TimeProps {
  readonly value: string | number
  readonly precision?: TimePrecision
}

/** A time; its zone and the exact instant are its title. */
export function Time({ value, precision = 'minute' }: TimeProps) {
  const date = new Date(value)
  const iso = Number.isNaN(date.getTime()) ? String(value) : date.toISOString()
  return (
    <time dateTime={iso} title={`${iso} · ${zoneName()}`}>
      {formatTime(value, precision)}
    </time>
  )
}

/** For headers of columns with times: «Time (Europe/Berlin)». */
export function timeHeader(title: string): string {
  return t('time.header', { title, zone: zoneName() })
}
