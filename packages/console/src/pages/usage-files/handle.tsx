/** Submits rejected records again as they are, or drops them, after a question. */
import { useRef, useState } from 'preact/hooks'
import { Confirm } from '../../parts/confirm.tsx'
import { announce } from '../../parts/live-region.tsx'
import { t } from '../../words/words.ts'
import {
  countsOf,
  type Handling,
  handle,
  handleEach,
  type Outcome,
  type RejectedRecord,
} from './data.ts'

interface HandleProps {
  readonly how: Handling
  readonly records: readonly RejectedRecord[]
  /** Some records have changed, perhaps not all. */
  readonly onChanged: () => void
  /** All are handled; with a summary. */
  readonly onDone: (text: string) => void
  readonly onClose: () => void
}

export function HandleDialog({ how, records, onChanged, onDone, onClose }: HandleProps) {
  const outcomes = useRef(new Map<string, Outcome>())
  const [handled, setHandled] = useState(0)
  const count = records.length
  const ids = records.map(({ id }) => id)
  const act = async () => {
    const show = () => setHandled(outcomes.current.size)
    try {
      await handleEach(ids, outcomes.current, (id) => handle(how, id), show)
    } finally {
      onChanged()
    }
    const text = summaryOf(outcomes.current.values())
    announce(text)
    onDone(text)
  }
  return (
    <Confirm
      title={t(`usagefiles.${how}Title`, { count })}
      about={t(`usagefiles.${how}About`)}
      act={t(`usagefiles.${how}Do`, { count })}
      action={`api/lines${how}`}
      onAct={act}
      onClose={onClose}
    >
      <p role="status">{handled > 0 && t('usagefiles.handled', { handled, count })}</p>
    </Confirm>
  )
}

export function summaryOf(outcomes: Iterable<Outcome>): string {
  const counts = countsOf(outcomes)
  return counts.map(([outcome, count]) => t(`usagefiles.count.${outcome}`, { count })).join(', ')
}
