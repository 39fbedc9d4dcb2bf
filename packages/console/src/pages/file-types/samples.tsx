/** Samples of a file type: saved messages, and where the check differs from what it said then. */
import { useEffect, useState } from 'preact/hooks'
import { Refusal } from '../../api/errors.ts'
import { type Reading, useRead } from '../../api/read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn } from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { leafText } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { announce } from '../../parts/live-region.tsx'
import { missingText } from '../../parts/rights.ts'
import { ReadView, Refused } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import {
  checkSamples,
  type FileType,
  type Report,
  readSample,
  removeSample,
  type SampleResult,
  type SamplesReport,
  saveSample,
  type Typed,
} from './data.ts'

interface SamplesProps {
  readonly type: FileType
  /** The check that can be saved: of the message that is typed; null without one. */
  readonly checked: { readonly typed: Typed; readonly report: Report } | null
  readonly onOpen: (typed: Typed) => void
}

type SampleDialog = 'save' | { readonly remove: string } | null

export function Samples({ type, checked, onOpen }: SamplesProps) {
  const { name, from } = type
  const isStored = from === 'stored'
  const mayCheck = isStored && missingText('api/filetypecheck') === null
  const reading = useRead(name, mayCheck ? (signal) => checkSamples(name, signal) : null)
  const { data, isLoading } = reading.state.value
  const [dialog, setDialog] = useState<SampleDialog>(null)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const open = (sample: string) => {
    setRefusal(null)
    readSample(name, sample).then(onOpen, (error: unknown) => {
      if (!(error instanceof Refusal)) throw error
      setRefusal(error)
    })
  }
  useEffect(() => {
    if (data !== null) announce(summaryOf(data))
  }, [data])
  const close = () => setDialog(null)
  const saved = () => {
    close()
    reading.reload()
  }
  const expect = checked?.report.expect ?? null
  return (
    <section class="samples" aria-labelledby="samples-title">
      <h2 id="samples-title">{t('samples.title', { name })}</h2>
      <p>{t('samples.about')}</p>
      {!isStored && <p class="state">{t('samples.builtIn', { name })}</p>}
      {isStored && (
        <Buttons
          hasCheck={expect !== null}
          isLoading={isLoading}
          onSave={() => setDialog('save')}
          onRun={() => reading.reload()}
        />
      )}
      {refusal !== null && <Refused refusal={refusal} />}
      {mayCheck && (
        <SampleList reading={reading} onOpen={open} onRemove={(remove) => setDialog({ remove })} />
      )}
      {dialog === 'save' && checked !== null && (
        <SaveDialog
          typed={checked.typed}
          expect={expect}
          names={(data?.samples ?? []).map((each) => each.name)}
          onClose={close}
          onSaved={saved}
        />
      )}
      {dialog !== null && dialog !== 'save' && (
        <Confirm
          title={t('samples.removeTitle', { name: dialog.remove })}
          about={t('samples.removeEffect', { name: dialog.remove, type: name })}
          act={t('samples.remove')}
          action="settings/set"
          onAct={() => removeSample(name, dialog.remove).then(reading.reload)}
          onClose={close}
        />
      )}
    </section>
  )
}

interface ButtonsProps {
  /** Whether a message has been checked that can be saved. */
  readonly hasCheck: boolean
  readonly isLoading: boolean
  readonly onSave: () => void
  readonly onRun: () => void
}

function Buttons({ hasCheck, isLoading, onSave, onRun }: ButtonsProps) {
  return (
    <div class="buttons">
      <ActionButton
        action="settings/set"
        kind="main"
        isDisabled={!hasCheck}
        about="samples-effect"
        onAct={onSave}
      >
        {t('samples.save')}
      </ActionButton>
      <ActionButton action="api/filetypecheck" isDisabled={isLoading} onAct={onRun}>
        {t(isLoading ? 'filetypes.busy' : 'samples.run')}
      </ActionButton>
      <span id="samples-effect" class="muted">
        {t(hasCheck ? 'samples.personal' : 'samples.checkFirst')}
      </span>
    </div>
  )
}

function summaryOf({ samples }: SamplesReport): string {
  const bad = samples.filter(({ ok }) => !ok).length
  return t('samples.summary', { count: samples.length, bad })
}

interface SampleListProps {
  readonly reading: Reading<SamplesReport>
  readonly onOpen: (name: string) => void
  readonly onRemove: (name: string) => void
}

function SampleList({ reading, onOpen, onRemove }: SampleListProps) {
  const stateOf = ({ ok }: SampleResult) => (
    <span class={ok ? 'done' : 'failed'}>
      <span class="shape" aria-hidden="true">
        {ok ? '✓' : '✕'}
      </span>{' '}
      <span class="word">{t(ok ? 'samples.ok' : 'samples.differs')}</span>
    </span>
  )
  const buttonsOf = ({ name }: SampleResult) => (
    <span class="buttons">
      <button
        type="button"
        aria-label={t('samples.openNamed', { name })}
        onClick={() => onOpen(name)}
      >
        {t('samples.open')}
      </button>
      <ActionButton action="settings/set" isBrief onAct={() => onRemove(name)}>
        {t('samples.remove')} <span class="hidden">{name}</span>
      </ActionButton>
    </span>
  )
  return (
    <ReadView
      reading={reading}
      isEmpty={({ samples }) => samples.length === 0}
      empty={t('samples.none')}
    >
      {(report) => (
        <>
          <p>{summaryOf(report)}</p>
          <Table
            caption={t('samples.list')}
            columns={[
              textColumn<SampleResult>('samples.name', ({ name }) => name),
              textColumn('samples.state', stateOf),
              textColumn('samples.do', buttonsOf),
            ]}
            rows={report.samples}
            keyOf={({ name }) => name}
          />
          {report.samples.map(
            (sample) => !sample.ok && <Differences key={sample.name} {...sample} />,
          )}
        </>
      )}
    </ReadView>
  )
}

type Changed = SampleResult['differences'][number]

function Differences({ name, differences }: SampleResult) {
  const cellOf = (value: unknown) =>
    value === null ? (
      <span class="muted">{t('filetypes.absent')}</span>
    ) : (
      <span class="id">{leafText(value)}</span>
    )
  return (
    <Table
      caption={t('samples.differences', { name })}
      hasCaption
      columns={[
        textColumn<Changed>('filetypes.field', ({ field }) => <code>{field}</code>),
        textColumn<Changed>('samples.expected', ({ expected }) => cellOf(expected)),
        textColumn<Changed>('samples.actual', ({ actual }) => cellOf(actual)),
      ]}
      rows={differences}
      keyOf={({ field }) => field}
    />
  )
}

interface SaveDialogProps {
  readonly typed: Typed
  readonly expect: unknown
  readonly names: readonly string[]
  readonly onClose: () => void
  readonly onSaved: () => void
}

function SaveDialog({ typed, expect, names, onClose, onSaved }: SaveDialogProps) {
  const form = useForm({ name: '' }, async ({ name }) => {
    await saveSample(name.trim(), typed, expect)
    onSaved()
  })
  const { name } = form.values.value
  const isTaken = names.includes(name.trim())
  return (
    <Dialog title={t('samples.saveTitle', { type: typed.type })} onClose={onClose}>
      <Form form={form} save={t(isTaken ? 'samples.replace' : 'samples.saveNow')}>
        <p>{t('samples.saveEffect')}</p>
        <Field
          label={t('samples.name')}
          {...form.field('name')}
          input={{ required: true, maxLength: 100, autocomplete: 'off', autofocus: true }}
          hint={isTaken ? t('samples.taken') : t('samples.personal')}
        />
      </Form>
    </Dialog>
  )
}
