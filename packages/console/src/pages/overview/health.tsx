/** State of the parts of the system: a mark, a word and a colour each. */
import type { LiveSample } from '../../api/live.ts'
import { formatDuration, formatShort } from '../../parts/numbers.ts'
import { Time } from '../../parts/time.tsx'
import { isKey, t } from '../../words/words.ts'

type Level = 'good' | 'warn' | 'bad' | 'unknown'

interface PartState {
  readonly name: string
  readonly level: Level
  readonly word: string
}

const MARKS: Readonly<Record<Level, string>> = { good: '✓', warn: '▲', bad: '✕', unknown: '?' }

export function HealthStrip({ sample }: { readonly sample: LiveSample }) {
  return (
    <ul class="health" aria-label={t('overview.health')}>
      {partsOf(sample).map(({ name, level, word }) => (
        <li key={name} class={level}>
          <span class="sign" aria-hidden="true">
            {MARKS[level]}
          </span>
          <span>
            {name} <strong>{word}</strong>
          </span>
        </li>
      ))}
    </ul>
  )
}

function partsOf({ health, processes, recorder, diameter, events }: LiveSample): PartState[] {
  const { redis, mongo, ledger, catalogue } = health
  const age = recorder.age_s === null ? '' : ` · ${formatDuration(recorder.age_s, 'second')}`
  return [
    checkOf('Redis', redis),
    checkOf('MongoDB', mongo),
    checkOf(t('overview.ledger'), ledger),
    processesOf(t('overview.charging'), processes?.realtime),
    processesOf(t('overview.recorder'), processes?.recorder),
    {
      name: t('overview.catalogue'),
      level: catalogue === 'ok' ? 'good' : catalogue === 'incomplete' ? 'warn' : 'unknown',
      word: wordOf(catalogue),
    },
    {
      name: t('overview.backlog'),
      level: recorder.backlog === null ? 'unknown' : 'good',
      word:
        recorder.backlog === null ? wordOf('unknown') : `${formatShort(recorder.backlog)}${age}`,
    },
    {
      name: t('peers.connections'),
      level: diameter.connections === null ? 'unknown' : 'good',
      word: diameter.connections === null ? wordOf('unknown') : formatShort(diameter.connections),
    },
    {
      name: t('overview.events'),
      level: events.pending === null ? 'unknown' : 'good',
      word: events.pending === null ? wordOf('unknown') : formatShort(events.pending),
    },
  ]
}

function checkOf(name: string, check: string): PartState {
  return { name, level: check === 'ok' ? 'good' : 'bad', word: wordOf(check) }
}

/** `count`: undefined while Redis is away, through which processes report. */
function processesOf(name: string, count: number | undefined): PartState {
  if (count === undefined) return { name, level: 'unknown', word: wordOf('unknown') }
  if (count === 0) return { name, level: 'bad', word: wordOf('none') }
  return { name, level: 'good', word: t('overview.processes', { count }) }
}

function wordOf(check: string): string {
  const key = `check.${check}`
  return isKey(key) ? t(key) : check
}

export function AlarmList({ sample: { alarms } }: { readonly sample: LiveSample }) {
  if (alarms.length === 0) return <p class="muted">{t('overview.noAlarms')}</p>
  return (
    <ul class="alarms">
      {alarms.map(({ name, since, text }) => (
        <li key={name}>
          <span class="sign" aria-hidden="true">
            ✕
          </span>
          <span>
            <strong>{alarmText(name, text)}</strong>{' '}
            <span class="muted">
              {t('overview.since')} <Time value={since} precision="second" />
            </span>
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Translated where the alarm is known, otherwise the text of the API. */
function alarmText(name: string, text: string): string {
  const key = `alarm.${name}`
  return isKey(key) ? t(key) : text
}
