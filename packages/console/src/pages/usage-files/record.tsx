/** A rejected record: its text, to be corrected and submitted again, and why it was rejected. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { link, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { announce } from '../../parts/live-region.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { problemOf, type RejectedRecord, type Resubmission, readRecord, resubmit } from './data.ts'
import { HandleDialog } from './handle.tsx'

interface DetailsProps {
  readonly id: string
  /** It was submitted or dropped. */
  readonly onChanged: () => void
}

export function RecordDetails({ id, onChanged }: DetailsProps) {
  const reading = useRead(`rejected record ${id}`, (signal) => readRecord(id, signal))
  const [outcome, setOutcome] = useState<Resubmission | null>(null)
  const changed = () => {
    reading.reload()
    onChanged()
  }
  return (
    <Dialog title={t('usagefiles.one')} onClose={() => navigateHere({ record: null })} isDrawer>
      <ReadView reading={reading} rows={16} empty={t('usagefiles.recordGone')}>
        {([record]) =>
          record !== undefined && (
            <div class="stack">
              <About record={record} />
              {outcome !== null && <p class={`mark ${markOf(outcome)}`}>{outcomeText(outcome)}</p>}
              <Correction record={record} onChanged={changed} onOutcome={setOutcome} />
            </div>
          )
        }
      </ReadView>
    </Dialog>
  )
}

function About({ record }: { readonly record: RejectedRecord }) {
  const { file, file_name: name, file_type: type, line, state, created, updated } = record
  return (
    <Facts
      facts={[
        { title: t('usagefiles.reason'), value: problemOf(record) },
        { title: t('usagefiles.state'), value: t(`usagefiles.${state}`) },
        { title: t('usagefiles.name'), value: <a href={link('usage-files', { file })}>{name}</a> },
        { title: t('usagefiles.line'), value: formatNumber(line) },
        { title: t('usagefiles.type'), value: type },
        { title: t('usagefiles.created'), value: <Time value={isoOf(created)} /> },
        { title: t('usagefiles.updated'), value: <Time value={isoOf(updated)} /> },
      ]}
    />
  )
}

interface CorrectionProps {
  readonly record: RejectedRecord
  readonly onChanged: () => void
  readonly onOutcome: (outcome: Resubmission | null) => void
}

function Correction({ record, onChanged, onOutcome }: CorrectionProps) {
  const { id, state, text: stored } = record
  const [isDropping, setDropping] = useState(false)
  const form = useForm({ text: stored }, async ({ text }) => {
    onOutcome(null)
    try {
      const outcome = await resubmit(id, text === stored ? undefined : text)
      onOutcome(outcome)
      announce(outcomeText(outcome))
    } finally {
      onChanged()
    }
  })
  const field = { label: t('usagefiles.record'), isMultiline: true, ...form.field('text') }
  if (state === 'corrected' || state === 'dropped') return <Field {...field} isReadOnly />
  const dropButton = (
    <ActionButton action="api/linesdrop" kind="danger" onAct={() => setDropping(true)}>
      {t('usagefiles.drop')}
    </ActionButton>
  )
  return (
    <>
      <Form
        form={form}
        save={t('usagefiles.resubmit')}
        action="api/linesresubmit"
        beside={state === 'waiting' && dropButton}
        isWide
      >
        <Field
          {...field}
          isReadOnly={state === 'submitted'}
          hint={t(state === 'submitted' ? 'usagefiles.interrupted' : 'usagefiles.textHint')}
        />
      </Form>
      {isDropping && (
        <HandleDialog
          how="drop"
          records={[record]}
          onChanged={onChanged}
          onDone={() => onOutcome(null)}
          onClose={() => setDropping(false)}
        />
      )}
    </>
  )
}

function markOf({ state }: Resubmission): string {
  if (state === 'rejected') return 'bad'
  return state === 'charged' ? 'good' : ''
}

function outcomeText({ state, reason }: Resubmission): string {
  return t(`usagefiles.is.${state}`, { reason })
}
