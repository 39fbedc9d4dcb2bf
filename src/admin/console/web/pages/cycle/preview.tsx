/** The invoices that a run would make, and how they differ from the stored ones. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { FieldError } from '../../api/errors.ts'
import { Refusal } from '../../api/errors.ts'
import { location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Field } from '../../parts/field.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { invalidField } from '../../parts/pending-form.ts'
import { Refused } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { computePreview, type Named, type Preview, type PreviewAccount } from './data.ts'
import { PreviewResult } from './preview-result.tsx'

/** More differing accounts are counted, but not shown. */
export const SHOWN_MAX = 200

export interface Computed {
  readonly last: Preview
  readonly accounts: readonly PreviewAccount[]
}

interface State {
  readonly isRunning: boolean
  readonly computed: Computed | null
  readonly refusal: Refusal | null
}

const NOTHING: State = { isRunning: false, computed: null, refusal: null }

export function Previews({ named }: { readonly named: Named }) {
  const { query } = location.value
  const [aid, setAid] = useState(query['aid'] ?? '')
  const [back, setBack] = useState(query['back'] ?? '2')
  const [assume, setAssume] = useState('')
  const { state, start, stop } = usePreview(named)
  const { isRunning, computed, refusal } = state
  const errorAt = (name: string) =>
    refusal?.fields.find(({ path }: FieldError) => path === name)?.reason ?? null
  const submit = (event: Event) => {
    event.preventDefault()
    setQuery({ aid: aid.trim() || null, back })
    start({ aid: aid.trim(), back: back.trim(), assume })
  }
  return (
    <div class="stack">
      <p>{t('preview.about')}</p>
      <form class="form" onSubmit={submit}>
        <Field
          label={t('preview.aid')}
          value={aid}
          onValue={setAid}
          input={{ inputMode: 'numeric', pattern: ' *[0-9]+ *', maxLength: 15 }}
        />
        <Field
          label={t('preview.back')}
          value={back}
          onValue={setBack}
          input={{ type: 'number', min: 0, max: 24, required: true }}
        />
        <Field
          label={t('preview.assume')}
          hint={t('preview.assumeHint')}
          value={assume}
          onValue={setAssume}
          error={errorAt('assume')}
          isMultiline
        />
        {refusal !== null && <Refused refusal={refusal} />}
        <div class="buttons">
          <ActionButton action="billrun/preview" kind="main" isDisabled={isRunning}>
            {t('preview.compute')}
          </ActionButton>
          {isRunning && (
            <button type="button" onClick={stop}>
              {t('preview.stop')}
            </button>
          )}
          <span role="status">
            {isRunning &&
              t('preview.running', { count: formatNumber(computed?.last.totals['accounts'] ?? 0) })}
          </span>
        </div>
      </form>
      {computed !== null && !isRunning && computed.last.next !== null && (
        <p class="mark warn">▲ {t('preview.stopped')}</p>
      )}
      {computed !== null && <PreviewResult computed={computed} />}
    </div>
  )
}

interface Typed {
  readonly aid: string
  readonly back: string
  readonly assume: string
}

function usePreview(named: Named) {
  const [state, setState] = useState(NOTHING)
  const running = useRef<AbortController | null>(null)
  const stop = () => {
    running.current?.abort()
    setState((now) => ({ ...now, isRunning: false }))
  }
  useEffect(() => () => running.current?.abort(), [])
  const start = async ({ assume, ...typed }: Typed) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ ...NOTHING, isRunning: true })
    const add = (page: Preview) =>
      setState(({ computed, ...rest }) => {
        const accounts = [...(computed?.accounts ?? []), ...page.accounts].slice(0, SHOWN_MAX)
        return { ...rest, computed: { last: page, accounts } }
      })
    try {
      const order = { ...typed, assume: parsed(assume) }
      await computePreview(named, order, controller.signal, add)
      setState((now) => ({ ...now, isRunning: false }))
    } catch (error) {
      if (controller.signal.aborted) return
      if (!(error instanceof Refusal)) throw error
      setState((now) => ({ ...now, isRunning: false, refusal: error }))
    }
  }
  return { state, stop, start: (typed: Typed) => void start(typed) }
}

function parsed(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidField('assume', t('preview.notJson', { reason: (error as Error).message }))
  }
}
