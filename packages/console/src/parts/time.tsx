/** Times: everywhere in the zone that the reader has chosen, with its name. */
import { nodeZone } from '../api/session.ts'
import { zoneChoice } from '../frame/choices.ts'
import { locale, t } from '../words/words.ts'

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

/** Revisions without an end have one in 2170, in the zone of the node. */
const FOREVER_MS = Date.UTC(2169, 11, 31)

export function isForever(value: string | number): boolean {
  return new Date(value).getTime() >= FOREVER_MS
}

/** `value`: ISO 8601, or ms. An unreadable text is returned as it is. */
export function formatTime(value: string | number, precision: TimePrecision = 'minute'): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return String(value)
  if (isForever(value)) return t('time.open')
  const options = { ...FIELDS[precision], timeZone: zoneName(), hourCycle: 'h23' } as const
  return new Intl.DateTimeFormat(locale(), options).format(date)
}

interface Period {
  readonly from: string
  readonly to: string
}

export function formatPeriod({ from, to }: Period, precision: TimePrecision): string {
  return `${formatTime(from, precision)} – ${formatTime(to, precision)}`
}

/** The coarsest precision that tells the begins and ends of these periods apart. */
export function precisionOf(periods: readonly Period[]): TimePrecision {
  const bounds = [...new Set(periods.flatMap(({ from, to }) => [from, to]))]
  const isEnough = (precision: TimePrecision) =>
    new Set(bounds.map((each) => formatTime(each, precision))).size === bounds.length
  return (['day', 'minute'] as const).find(isEnough) ?? 'second'
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)$/

/** Whether a text is an instant with its offset. */
export function isInstant(text: string): boolean {
  return INSTANT.test(text)
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
  return new Intl.DateTimeFormat(locale(), options).format(ms)
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

/** A value of a document: an instant is shown as a time, any other text as it is. */
export function ValueText({ text }: { readonly text: string }) {
  return isInstant(text) ? <Time value={text} precision="second" /> : text
}

/** For headers of columns with times: «Time (Europe/Berlin)». */
export function timeHeader(title: string): string {
  return t('time.header', { title, zone: zoneName() })
}
