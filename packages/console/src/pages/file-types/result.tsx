/** The report of a check in four stages, each with its state, its data and what is wrong. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { textColumn } from '../../parts/columns.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { Table } from '../../parts/table.tsx'
import { isKey, t } from '../../words/words.ts'
import type { Report, Typed } from './data.ts'
import { RateStage } from './rate.tsx'
import { Source } from './source.tsx'
import {
  type CheckStep,
  type FieldRow,
  fieldRows,
  problemOf,
  type Stage,
  type StageState,
  stagesOf,
} from './stages.ts'

/** Keeps the page small, whatever a message has. */
const ROWS_MAX = 200
const NAMES_BROKEN_MAX = 8
const SHAPES: Readonly<Record<StageState, string>> = { done: '✓', failed: '✕', notReached: '○' }

interface ResultProps {
  readonly typed: Typed
  readonly report: Report
  /** Why the user may not rate; null if it may. */
  readonly missing: string | null
}

export function Result({ typed, report, missing }: ResultProps) {
  const stages = stagesOf(report.steps)
  return (
    <>
      <Overview stages={stages} />
      <ol class="stages">
        {stages.map((stage) => (
          <li
            key={stage.name}
            class={`stage ${stage.state}`}
            aria-labelledby={`stage-${stage.name}`}
          >
            <h3 id={`stage-${stage.name}`}>
              <StageTitle stage={stage} />
            </h3>
            <Problems steps={stage.steps} typed={typed} />
            <Content stage={stage} missing={missing} />
          </li>
        ))}
      </ol>
    </>
  )
}

/** All states in a line; on a phone it comes into view below the form. */
function Overview({ stages }: { readonly stages: readonly Stage[] }) {
  const ref = useRef<HTMLUListElement>(null)
  useEffect(() => ref.current?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <ul class="overview-line" ref={ref} aria-label={t('filetypes.overview')}>
      {stages.map((stage) => (
        <li key={stage.name} class={stage.state}>
          <StageTitle stage={stage} />
        </li>
      ))}
    </ul>
  )
}

function StageTitle({ stage: { name, state } }: { readonly stage: Stage }) {
  return (
    <>
      <span class="shape" aria-hidden="true">
        {SHAPES[state]}
      </span>
      <span>{t(`filetypes.stage.${name}`)}</span>
      <span class="word">{t(`filetypes.state.${state}`)}</span>
    </>
  )
}

function Content({ stage, missing }: { readonly stage: Stage; readonly missing: string | null }) {
  const { name, steps } = stage
  if (name === 'rate') return <RateStage steps={steps} missing={missing} />
  if (name === 'answer') return <Answers steps={steps} />
  return name === 'parse' ? <Parsed steps={steps} /> : <Mapped steps={steps} />
}

interface ProblemsProps {
  readonly steps: readonly CheckStep[]
  readonly typed: Typed
}

/** The text of the API, and the message with its first wrong byte. */
function Problems({ steps, typed }: ProblemsProps) {
  return steps.map((step) => {
    const problem = problemOf(step)
    if (problem === null) return null
    const { field, why, code, offset } = problem
    return (
      <div key={step.step}>
        <p class="refused">
          {field !== '' && <code>{field}</code>}
          <span>{why}</span>
          {code !== null && <span class="muted">{t('state.code', { code })}</span>}
        </p>
        {offset !== null && <Source typed={typed} offset={offset} />}
      </div>
    )
  })
}

/** The file type is named in the form. */
function Parsed({ steps }: { readonly steps: readonly CheckStep[] }) {
  return steps.map(({ step, ok, result }) => {
    if (!ok || step === 'document') return null
    return <Fields key={step} title={stepTitle(step)} parts={[{ part: '', result }]} />
  })
}

/** The values that were read, and below them the charge request. */
function Mapped({ steps }: { readonly steps: readonly CheckStep[] }) {
  const isRequest = ({ step }: CheckStep) => step === 'request'
  const request = steps.find((each) => isRequest(each) && each.ok)
  const parts = steps
    .filter((each) => !isRequest(each))
    .map(({ step, result }) => ({ part: stepTitle(step), result }))
  return (
    <>
      {parts.length > 0 && <Fields title={t('filetypes.read')} parts={parts} />}
      {typeof request?.result === 'string' && <p>{request.result}</p>}
      {request !== undefined && typeof request.result !== 'string' && (
        <details>
          <summary>{stepTitle('request')}</summary>
          <Fields title={stepTitle('request')} parts={[{ part: '', result: request.result }]} />
        </details>
      )}
    </>
  )
}

function Answers({ steps }: { readonly steps: readonly CheckStep[] }): ComponentChildren {
  return steps.map(({ step, result }) => (
    <figure key={step}>
      <figcaption>{stepTitle(step)}</figcaption>
      <pre>{String(result)}</pre>
      <CopyButton text={String(result)} label={t('copy.copy')} />
    </figure>
  ))
}

interface FieldsProps {
  readonly title: string
  /** Results of steps; `part` is empty if there is only one. */
  readonly parts: readonly { readonly part: string; readonly result: unknown }[]
}

function Fields({ title, parts }: FieldsProps) {
  const read = parts.map(({ part, result }) => ({ part, ...fieldRows(result, ROWS_MAX) }))
  const all = read.flatMap(({ part, rows }) => rows.map((row) => ({ ...row, part })))
  // A part is named in its first row.
  const rows = all.slice(0, ROWS_MAX).map((row, index) => ({ ...row, index }))
  const more = all.length - rows.length + read.reduce((sum, { more: left }) => sum + left, 0)
  const hasParts = parts.some(({ part }) => part !== '')
  const partOf = ({ part, index }: { part: string; index: number }) => {
    return part === rows[index - 1]?.part ? <span class="hidden">{part}</span> : part
  }
  return (
    <>
      <Table
        caption={title}
        hasCaption
        columns={[
          ...(hasParts ? [textColumn('filetypes.part', partOf)] : []),
          textColumn('filetypes.field', fieldCell),
          textColumn('filetypes.value', valueCell),
        ]}
        rows={rows}
      />
      {more > 0 && <p class="muted">{t('filetypes.more', { count: formatNumber(more) })}</p>}
    </>
  )
}

/** Paths are broken between names; very deep ones are not. */
function fieldCell({ field }: FieldRow) {
  const names = field.split(/(?<=[._])/)
  if (names.length > NAMES_BROKEN_MAX) return <code>{field}</code>
  return (
    <code>
      {names.flatMap((name, index) => (index === 0 ? [name] : [<wbr key={index} />, name]))}
    </code>
  )
}

function valueCell({ value }: FieldRow) {
  if (value === null) return <span class="muted">{t('filetypes.absent')}</span>
  if (value === '') return <span class="muted">{t('filetypes.empty')}</span>
  return <span class="id">{value}</span>
}

/** Services have numbers; steps without a text of the console are named as by the API. */
function stepTitle(step: string): string {
  const [, number] = /^services\.(\d+)$/.exec(step) ?? []
  if (number !== undefined) return t('filetypes.step.service', { number: Number(number) + 1 })
  const key = `filetypes.step.${step}`
  return isKey(key) ? t(key) : step
}
