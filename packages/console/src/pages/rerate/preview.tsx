/** The selection of usage, and the preview of it, which has to be seen before a run. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Field } from '../../parts/field.tsx'
import { NUMBER_INPUT } from '../../parts/filter.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { announce } from '../../parts/live-region.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { BeginDialog } from './begin.tsx'
import { FIELDS, type Previewed, previewRerate, readBegin, selectionIn } from './data.ts'
import { PreviewResult } from './preview-result.tsx'

interface PreviewsProps {
  readonly previewed: Previewed | null
  readonly onPreviewed: (previewed: Previewed | null) => void
  readonly onBegun: () => void
}

export function Previews(props: PreviewsProps) {
  const reading = useRead('begin of the cycle', readBegin)
  return (
    <ReadView reading={reading} rows={16}>
      {(begin) => <PreviewForm {...props} begin={begin} />}
    </ReadView>
  )
}

const INPUTS = {
  from: { type: 'date', required: true },
  to: { type: 'date' },
  rate: {},
  plan: {},
  sid: NUMBER_INPUT,
  file_type: {},
} as const

function PreviewForm(props: PreviewsProps & { readonly begin: string }) {
  const { previewed, onPreviewed, begin } = props
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const { query } = location.value
  const form = useForm(selectionIn({ from: begin, ...query }), async (values) => {
    const controller = new AbortController()
    running.current = controller
    const { signal } = controller
    const selection = selectionIn(values)
    const set = Object.entries(selection).map(([name, value]) => [name, value || null])
    setQuery(Object.fromEntries(set))
    onPreviewed(null)
    try {
      const preview = await previewRerate(selection, signal)
      onPreviewed({ selection, preview })
      announce(sentenceOf(preview.totals))
    } catch (error) {
      if (!signal.aborted) throw error
    }
  })
  const isBusy = form.isBusy.value
  const current = selectionIn(form.values.value)
  const isOther =
    previewed !== null && FIELDS.some((name) => current[name] !== previewed.selection[name])
  return (
    <div class="stack">
      <p>{t('rerate.about')}</p>
      <Form
        form={form}
        save={t('rerate.preview')}
        busy={t('rerate.busy')}
        action="api/rerate"
        beside={
          isBusy && (
            <button type="button" onClick={() => running.current?.abort()}>
              {t('rerate.stop')}
            </button>
          )
        }
      >
        {FIELDS.map((name) => (
          <Field
            key={name}
            label={t(`rerate.${name}`)}
            {...form.field(name)}
            input={{ autocomplete: 'off', maxLength: 200, ...INPUTS[name] }}
          />
        ))}
      </Form>
      {previewed !== null && <Result {...props} previewed={previewed} isOther={isOther} />}
    </div>
  )
}

interface ResultProps {
  readonly previewed: Previewed
  /** The fields have changed since. */
  readonly isOther: boolean
  readonly onBegun: () => void
}

function Result({ previewed, isOther, onBegun }: ResultProps) {
  const [isAsked, setAsked] = useState(false)
  const { totals } = previewed.preview
  return (
    <section class="stack" aria-labelledby="rerate-preview">
      <h2 id="rerate-preview">{t('rerate.result')}</h2>
      <PreviewResult preview={previewed.preview}>
        {Number(totals.changed) > 0 && (
          <div class="buttons">
            <ActionButton
              action="api/rerate"
              kind="danger"
              reason={isOther ? t('rerate.isOther') : null}
              onAct={() => setAsked(true)}
            >
              {t('rerate.begin', { count: formatNumber(totals.changed) })}
            </ActionButton>
          </div>
        )}
      </PreviewResult>
      {isAsked && (
        <BeginDialog previewed={previewed} onBegun={onBegun} onClose={() => setAsked(false)} />
      )}
    </section>
  )
}

function sentenceOf({ lines, changed, accounts, refused }: Previewed['preview']['totals']): string {
  return t('rerate.sentence', {
    lines: formatNumber(lines),
    changed: formatNumber(changed),
    accounts: formatNumber(accounts),
    refused: formatNumber(refused),
  })
}
