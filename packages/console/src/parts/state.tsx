/** States of a page without data, or without data that are up to date. */
import './state.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isOnline } from '../api/client.ts'
import { elapsedMs } from '../api/clock.ts'
import type { Refusal } from '../api/errors.ts'
import type { Reading } from '../api/read.ts'
import { t } from '../words/words.ts'
import { CopyButton } from './copy.tsx'
import { formatDuration } from './numbers.ts'
import { pageKey } from './table.tsx'

/** Faster answers show no skeleton. */
const SKELETON_AFTER_MS = 150

interface ReadViewProps<T> {
  readonly reading: Reading<T>
  /** Height of the data in rows, so that nothing jumps when they come. */
  readonly rows?: number
  /** Shown if there is nothing else to show. */
  readonly empty?: string | undefined
  /** Whether there is nothing to show, if the data are no list. */
  readonly isEmpty?: (data: T) => boolean
  readonly children: (data: T) => ComponentChildren
}

/** Data of a read in all its states: loading, refused, empty, stale, there. */
export function ReadView<T>(props: ReadViewProps<T>) {
  const { reading, rows = 3, empty, isEmpty = hasNoRows, children } = props
  const { data, refusal, isLoading } = reading.state.value
  if (data === null) {
    if (refusal !== null) return <Refused refusal={refusal} onRetry={reading.reload} />
    return <Skeleton rows={rows} />
  }
  const isStale = refusal !== null
  return (
    <>
      {isStale && <Refused refusal={refusal} onRetry={reading.reload} />}
      <div class={isStale ? 'stale' : undefined} aria-busy={isLoading}>
        {empty !== undefined && isEmpty(data) ? <p class="state">{empty}</p> : children(data)}
      </div>
    </>
  )
}

/** From a further page without rows there is a way back to the first. */
function hasNoRows(data: unknown): boolean {
  if (Array.isArray(data)) return data.length === 0
  const { rows } = Object(data) as { readonly rows?: readonly unknown[] }
  return rows?.length === 0 && pageKey() === null
}

export function Skeleton({ rows }: { readonly rows: number }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class={isShown ? 'skeleton shown' : 'skeleton'} style={{ blockSize: `${rows * 28}px` }}>
      <span class="hidden">{t('state.loading')}</span>
    </div>
  )
}

interface RefusedProps {
  readonly refusal: Refusal
  readonly onRetry?: () => void
}

/** The text of the API, with its code, to be copied for support. */
export function Refused({ refusal, onRetry }: RefusedProps) {
  const { kind, code, text } = refusal
  const title = t(`state.${kind === 'login' ? 'refused' : kind}`)
  const copied = `${text} (${code}) ${window.location.href}`
  return (
    <div class="refused">
      <strong>{title}</strong>
      <span>{text}</span>
      {code !== 0 && <span class="muted">{t('state.code', { code })}</span>}
      <span class="buttons">
        {onRetry && (
          <button type="button" onClick={onRetry}>
            {t('state.retry')}
          </button>
        )}
        <CopyButton text={copied} label={t('state.copy')} />
      </span>
    </div>
  )
}

/** Shown above all pages while the server does not answer. */
export function OfflineBanner() {
  if (isOnline.value) return null
  return <p class="offline">{t('state.offlineBanner')}</p>
}

/** How old data are; counts on automatically. `atMs`: by `elapsedMs`. */
export function Age({ atMs }: { readonly atMs: number }) {
  const [now, setNow] = useState(elapsedMs)
  useEffect(() => {
    const timer = setInterval(() => setNow(elapsedMs()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.floor((now - atMs) / 1000))
  const text =
    seconds < 120
      ? formatDuration(seconds, 'second')
      : formatDuration(Math.floor(seconds / 60), 'minute')
  return <span class="muted">{t('state.age', { age: text })}</span>
}
