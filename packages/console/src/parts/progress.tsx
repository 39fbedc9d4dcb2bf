/** How far long work is: a bar, and the figures beside it. */
import './progress.css'
import { useEffect } from 'preact/hooks'
import type { Reading } from '../api/read.ts'

const POLL_MS = 1_000

interface ProgressBarProps {
  readonly percent: number
  /** Names the work. */
  readonly label: string
  readonly text: string
}

export function ProgressBar({ percent, label, text }: ProgressBarProps) {
  return (
    <div class="progress">
      <progress max={100} value={percent} aria-label={label} />
      <span>{text}</span>
    </div>
  )
}

/** The next read begins a second after an answer; none while the page is hidden. */
export function usePolling({ state, reload }: Reading<unknown>, isMoving: boolean): void {
  const { isLoading } = state.value
  useEffect(() => {
    if (!isMoving || isLoading) return
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, POLL_MS)
    return () => clearInterval(timer)
  }, [isMoving, isLoading])
}
