/** Overview: whether the system works, now and in the last 15 minutes. */
import './overview.css'
import { useSignalEffect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { elapsedMs } from '../../api/clock.ts'
import { nodeClock } from '../../api/session.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { announce } from '../../parts/live-region.tsx'
import { formatDuration } from '../../parts/numbers.ts'
import { Connections, Refusals } from '../../parts/peers.tsx'
import { Refused, Skeleton } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { Charts } from './charts.tsx'
import { type OverviewData, useOverviewData } from './data.ts'
import { AlarmList, HealthStrip } from './health.tsx'

/** Older samples are marked: the next ones are missing. */
const STALE_MS = 3_000

export default function Page() {
  const data = useOverviewData()
  const toggle = () => data.pause(!data.isPaused.peek())
  useShortcuts([{ keys: '.', title: 'overview.pause', run: toggle }])
  useAlarmMessages(data)
  const ageMs = useAge(data)
  const { refusal } = data.live.value
  const sample = data.sample.value
  const isStale = ageMs !== null && ageMs > STALE_MS
  return (
    <>
      <div class="title">
        <h1 tabIndex={-1}>{t('page.overview')}</h1>
        <LiveBadge data={data} ageMs={ageMs} isStale={isStale} />
        <button type="button" aria-pressed={data.isPaused.value} onClick={toggle}>
          {t('overview.pause')} <kbd>.</kbd>
        </button>
      </div>
      {nodeClock.value !== null && <p class="muted">{t('overview.realTime')}</p>}
      {refusal !== null && refusal.kind !== 'offline' && <Refused refusal={refusal} />}
      {sample === null ? (
        refusal === null && <Skeleton rows={12} />
      ) : (
        <div class={isStale ? 'overview stale' : 'overview'}>
          <HealthStrip sample={sample} />
          <section aria-labelledby="alarms">
            <h2 id="alarms">{t('overview.alarms')}</h2>
            <AlarmList sample={sample} />
          </section>
          <Charts data={data} />
          <div class="peers">
            <section aria-labelledby="refusals">
              <h2 id="refusals">{t('peers.refusals')}</h2>
              <Refusals sample={sample} />
            </section>
            <section aria-labelledby="peers">
              <h2 id="peers">{t('peers.connections')}</h2>
              <Connections sample={sample} />
            </section>
          </div>
        </div>
      )}
    </>
  )
}

/** Age of the newest sample, each second; null before the first. */
function useAge({ live }: OverviewData): number | null {
  const [now, setNow] = useState(elapsedMs)
  useEffect(() => {
    const timer = setInterval(() => setNow(elapsedMs()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const { atMs } = live.value
  return atMs === null ? null : Math.max(0, now - atMs)
}

interface LiveBadgeProps {
  readonly data: OverviewData
  readonly ageMs: number | null
  readonly isStale: boolean
}

function LiveBadge({ data, ageMs, isStale }: LiveBadgeProps) {
  if (ageMs === null) return <span class="badge">{t('overview.connecting')}</span>
  const age = formatDuration(Math.floor(ageMs / 1000), 'second')
  const isPolling = data.live.value.mode === 'polling'
  const word = isStale ? 'overview.stale' : isPolling ? 'overview.polled' : 'overview.live'
  const level = isStale ? 'bad' : 'good'
  return (
    <span class={`badge ${level}`}>
      <span aria-hidden="true">{isStale ? '✕' : '●'}</span>{' '}
      <span>{data.isPaused.value ? t('overview.paused') : t(word, { age })}</span>
    </span>
  )
}

/** Alarms that are raised are said, figures are not. */
function useAlarmMessages({ live }: OverviewData): void {
  const known = useRef<ReadonlySet<string> | null>(null)
  useSignalEffect(() => {
    const { sample } = live.value
    if (sample === null) return
    const raised = sample.alarms.filter(({ name }) => known.current?.has(name) === false)
    known.current = new Set(sample.alarms.map(({ name }) => name))
    if (raised.length > 0) announce(raised.map(({ text }) => text).join(' '))
  })
}
