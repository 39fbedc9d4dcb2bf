/** The invoices that a run would make, and how they differ from the stored ones. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Field } from '../../parts/field.tsx'
import { useForm } from '../../parts/form.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { invalidField } from '../../parts/pending-form.ts'
import { Refused } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type Computed, type CycleRef, computePreview, type Preview, SHOWN_MAX } from './data.ts'
import { PreviewResult } from './preview-result.tsx'

export function Previews({ named }: { readonly named: CycleRef }) {
  const { query } = location.value
  const [computed, setComputed] = useState<Computed | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const initial = { aid: query['aid'] ?? '', back: query['back'] ?? '2', assume: '' }
  const form = useForm(initial, async ({ aid, back, assume }) => {
    const controller = new AbortController()
    running.current = controller
    const { signal } = controller
    setQuery({ aid: aid.trim() || null, back })
    setComputed(null)
    let accounts: Computed['accounts'] = []
    const add = (last: Preview) => {
      accounts = [...accounts, ...last.accounts].slice(0, SHOWN_MAX)
      setComputed({ last, accounts })
    }
    try {
      const order = { aid: aid.trim(), back, assume: parsed(assume) }
      await computePreview(named, order, signal, add)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  })
  const isRunning = form.isBusy.value
  const refusal = form.refusal.value
  const field = (name: keyof typeof initial) => ({
    label: t(`preview.${name}`),
    ...form.field(name),
  })
  const submit = (event: Event) => {
    event.preventDefault()
    void form.submit()
  }
  const count = formatNumber(computed?.last.totals['accounts'] ?? 0)
  return (
    <div class="stack">
      <p>{t('preview.about')}</p>
      <form class="form" onSubmit={submit}>
        <Field
          {...field('aid')}
          input={{ inputMode: 'numeric', pattern: ' *[0-9]+ *', maxLength: 15 }}
        />
        <Field {...field('back')} input={{ type: 'number', min: 0, max: 24, required: true }} />
        <Field {...field('assume')} hint={t('preview.assumeHint')} isMultiline />
        {refusal !== null && <Refused refusal={refusal} />}
        <div class="buttons">
          <ActionButton action="billrun/preview" kind="main" isDisabled={isRunning}>
            {t('preview.compute')}
          </ActionButton>
          {isRunning && (
            <button type="button" onClick={() => running.current?.abort()}>
              {t('preview.stop')}
            </button>
          )}
          <span role="status">{isRunning && t('preview.running', { count })}</span>
        </div>
      </form>
      {computed !== null && !isRunning && computed.last.next !== null && (
        <p class="mark warn">▲ {t('preview.stopped')}</p>
      )}
      {computed !== null && <PreviewResult computed={computed} />}
    </div>
  )
}

function parsed(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidField('assume', t('preview.notJson', { reason: (error as Error).message }))
  }
}
