/** The cost of an edit of a catalogue document: for cases, or for the latest lines of a plan. */
import './simulator.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { BodyOf } from '../../api/call-types.ts'
import { call } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { Fields } from '../../api/records.ts'
import { SIMULATOR } from '../../words/en/simulator.ts'
import { addWords, t } from '../../words/words.ts'
import { ActionButton } from '../action-button.tsx'
import { Field } from '../field.tsx'
import type { TextField } from '../form.tsx'
import { announce } from '../live-region.tsx'
import { Refused, Skeleton } from '../state.tsx'
import { CASES_MAX, type Comparison, parseCases } from './cases.ts'
import { ComparisonView } from './comparison.tsx'

addWords(SIMULATOR)

const BYTES_MAX = 4 * 1024 * 1024
const ERRORS_SHOWN = 5

export interface SimulatorProps {
  readonly collection: 'rates' | 'plans' | 'services' | 'prepaidincludes' | 'taxes'
  /** The stored document with its key; null for a new one. */
  readonly base: Fields | null
  /** The document with the edit. */
  readonly draft: Fields
}

interface Run {
  /** The documents that were priced. */
  readonly of: string
  readonly result: Comparison | null
  readonly refusal: Refusal | null
}

const USAGES = ['cases', 'lines'] as const
type Typed = typeof NOTHING
type Errors = Partial<Record<keyof Typed, string>>
type FieldOf = (name: keyof Typed) => TextField
const NOTHING = { usage: 'cases', text: '', plan: '', rate: '', last: String(CASES_MAX) }

export function Simulator({ collection, base, draft }: SimulatorProps) {
  const [typed, setTyped] = useState(NOTHING)
  const [errors, setErrors] = useState<Errors>({})
  const documents = JSON.stringify([collection, base, draft])
  const { run, start } = useRun(documents)
  const field: FieldOf = (name) => ({
    value: typed[name],
    onValue: (value) => setTyped((before) => ({ ...before, [name]: value })),
    error: errors[name] ?? null,
  })
  const usage = typed.usage === 'lines' ? 'lines' : 'cases'
  const submit = (event: Event) => {
    event.preventDefault()
    const found = errorsOf(typed)
    setErrors(found)
    if (Object.keys(found).length > 0) return
    start(bodyOf(typed, { collection, base, draft }))
  }
  const isBusy = run !== null && run.result === null && run.refusal === null
  return (
    <div class="simulator">
      <form class="form" onSubmit={submit}>
        <Field
          label={t('simulator.usage')}
          {...field('usage')}
          choices={USAGES.map((value) => ({ value, label: t(`simulator.usage.${value}`) }))}
        />
        {usage === 'cases' ? <CasesFields {...field('text')} /> : <LinesFields field={field} />}
        <div class="buttons">
          <ActionButton action="api/quote" kind="main" isDisabled={isBusy}>
            {t(isBusy ? 'simulator.busy' : 'simulator.price')}
          </ActionButton>
        </div>
      </form>
      <section aria-label={t('simulator.result')}>
        {run === null && <p class="state">{t('simulator.nothing')}</p>}
        {isBusy && <Skeleton rows={8} />}
        {run?.refusal && <Refused refusal={run.refusal} />}
        {run !== null && !isBusy && run.of !== documents && (
          <p class="changed">{t('simulator.changed')}</p>
        )}
        {run?.result && <ComparisonView comparison={run.result} />}
      </section>
    </div>
  )
}

function bodyOf(
  { usage, text, plan, rate, last }: Typed,
  { collection, base, draft }: SimulatorProps,
): BodyOf<'api/quote'> {
  const ofLines = {
    plan: plan.trim(),
    last: Number(last),
    ...(rate.trim() !== '' && { rate: rate.trim() }),
  }
  const ofCases = { cases: parseCases(text).cases.slice(0, CASES_MAX) }
  return {
    assume: { [collection]: [draft] },
    ...(base !== null && { base: { [collection]: [base] } }),
    ...(usage === 'lines' ? ofLines : ofCases),
  } as BodyOf<'api/quote'>
}

/** A change of the documents ends the call that prices those before it. */
function useRun(documents: string) {
  const [run, setRun] = useState<Run | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => {
    return () => running.current?.abort()
  }, [documents])
  const start = (body: BodyOf<'api/quote'>) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const { signal } = controller
    const nothing: Run = { of: documents, result: null, refusal: null }
    setRun(nothing)
    call('api/quote', body, { signal }).then(
      (details) => {
        const result = details as Comparison
        if (signal.aborted) return
        setRun({ ...nothing, result })
        const { cases, changed } = result.totals
        announce(t('simulator.count', { cases, changed }))
      },
      (error: unknown) => {
        if (signal.aborted) return setRun((last) => (last === nothing ? null : last))
        if (!(error instanceof Refusal)) throw error
        setRun({ ...nothing, refusal: error })
      },
    )
  }
  return { run, start }
}

function LinesFields({ field }: { readonly field: FieldOf }) {
  return (
    <>
      <Field label={t('simulator.plan')} {...field('plan')} />
      <Field label={t('simulator.rate')} {...field('rate')} hint={t('simulator.rateHint')} />
      <Field
        label={t('simulator.last')}
        {...field('last')}
        input={{ inputMode: 'numeric' }}
        hint={t('simulator.linesHint')}
      />
    </>
  )
}

function CasesFields({ value: text, error, onValue: onText }: TextField) {
  const [tooLarge, setTooLarge] = useState<string | null>(null)
  const read = (event: Event) => {
    const [file] = (event.currentTarget as HTMLInputElement).files ?? []
    if (file === undefined) return
    const isTooLarge = file.size > BYTES_MAX
    setTooLarge(isTooLarge ? t('simulator.tooLarge') : null)
    if (!isTooLarge) void file.text().then(onText)
  }
  const count = text.trim() === '' ? 0 : parseCases(text).cases.length
  return (
    <>
      <div class="field">
        <label for="simulator-file">{t('simulator.file')}</label>
        <input
          id="simulator-file"
          type="file"
          accept=".jsonl,.ndjson,.json,.txt"
          onChange={read}
          aria-invalid={tooLarge !== null}
          aria-describedby={tooLarge === null ? undefined : 'simulator-file-error'}
        />
        {tooLarge !== null && (
          <small id="simulator-file-error" class="error">
            {tooLarge}
          </small>
        )}
      </div>
      <Field
        label={t('simulator.cases')}
        value={text}
        onValue={onText}
        isMultiline
        hint={
          count > CASES_MAX
            ? t('simulator.first', { count, max: CASES_MAX })
            : t('simulator.casesHint')
        }
        error={error}
      />
    </>
  )
}

function errorsOf(typed: Typed): Errors {
  if (typed.usage === 'lines') {
    const isCount = /^\d{1,3}$/.test(typed.last) && !/^0*$/.test(typed.last)
    return {
      ...(typed.plan.trim() === '' && { plan: t('simulator.needsPlan') }),
      ...((!isCount || Number(typed.last) > CASES_MAX) && {
        last: t('simulator.badLast', { max: CASES_MAX }),
      }),
    }
  }
  const { cases, errors } = parseCases(typed.text)
  if (errors.length > 0) {
    const visible = errors.slice(0, ERRORS_SHOWN).map(({ line, why }) => {
      return t('simulator.badLine', { line, why: why === '' ? t('simulator.noCase') : why })
    })
    const more = errors.length - visible.length
    return { text: [...visible, ...(more > 0 ? [t('simulator.more', { more })] : [])].join(' ') }
  }
  return cases.length === 0 ? { text: t('simulator.needsCases') } : {}
}
