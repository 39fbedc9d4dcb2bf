/** Why a line has its price: a sentence, the chart and the steps as a table. */
import { useEffect } from 'preact/hooks'
import type { DecimalText } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import { showBeside } from '../../frame/scroll.ts'
import { textIn } from '../../parts/differences.ts'
import { explainLine } from '../../parts/explain/explain.ts'
import type { Speech } from '../../parts/explain/sentences.ts'
import type { RatedLine } from '../../parts/explain/steps.ts'
import { formatNumber, withCurrency } from '../../parts/numbers.ts'
import { StepsChart } from '../../parts/steps-chart.tsx'
import type { WordKey } from '../../words/en.ts'
import { t } from '../../words/words.ts'
import { type Line, readIncludes } from './data.ts'
import { priceOf, whatOf } from './line-view.ts'

interface WhyProps {
  readonly line: Line
  readonly onClose: () => void
}

export function Why({ line, onClose }: WhyProps) {
  useEffect(() => showBeside('.with-why > .why', '.lines tr[aria-current]'), [line.stamp])
  const reading = useRead('names of prepaid includes', readIncludes)
  const names = new Map(
    (reading.state.value.data ?? []).map(({ external_id: id, name }) => [String(id), name]),
  )
  const speech: Speech = {
    say: (key, values) => t(key as WordKey, values),
    number: (decimal) => formatNumber(decimal as DecimalText),
    money: withCurrency,
    includeName: (id) => names.get(id) ?? '',
  }
  const explanation = explainLine(line as RatedLine, speech)
  return (
    <aside class="why" aria-labelledby="why">
      <header class="section-header">
        <h2 id="why" tabIndex={-1}>
          {t('lines.whyOf', { what: whatOf(line), price: withCurrency(priceOf(line)) })}
        </h2>
        <button type="button" class="plain" onClick={onClose}>
          {t('dialog.close')}
        </button>
      </header>
      {explanation === null ? (
        <NotRated line={line} />
      ) : (
        <>
          <p class="why-sentence" dir="auto">
            {explanation.sentence}
          </p>
          <StepsChart explanation={explanation} />
          <table>
            <caption>{t('why.steps')}</caption>
            <thead>
              <tr>
                <th scope="col">{t('why.step')}</th>
                <th scope="col">{t('why.meaning')}</th>
              </tr>
            </thead>
            <tbody>
              {explanation.steps.map(({ mark, sentence }, index) => (
                <tr key={index}>
                  <th scope="row">
                    <span class={`step-mark ${mark}`} aria-hidden="true" /> {mark}
                  </th>
                  <td dir="auto">{sentence}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <Charge line={line} />
    </aside>
  )
}

/** Top-ups, charges of cycles and credits have no steps: their fields say what they are. */
function NotRated({ line }: { readonly line: Line }) {
  const visible = Object.entries(line).filter(
    ([, value]) => typeof value !== 'object' && value !== '' && value !== null,
  )
  return (
    <>
      <p>{t('why.notRated', { type: line.type })}</p>
      <dl class="facts">
        {visible.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd dir="auto">{String(value)}</dd>
          </>
        ))}
      </dl>
    </>
  )
}

interface TaxData {
  readonly taxes?: readonly { readonly description?: string; readonly amount?: unknown }[]
}

/** The sums are those of the line. */
function Charge({ line }: { readonly line: Line }) {
  const { taxes = [] } = (line['tax_data'] ?? {}) as TaxData
  const exact = line['exact'] as { final_charge?: string } | undefined
  const total = exact?.final_charge ?? textIn(line, 'final_charge')
  if (total === '') return null
  return (
    <dl class="facts">
      <dt>{t('why.price')}</dt>
      <dd class="number">{withCurrency(priceOf(line))}</dd>
      {taxes.map(({ description = '', amount }) => (
        <>
          <dt dir="auto">{t('why.tax', { description })}</dt>
          <dd class="number">{withCurrency(formatNumber(amount as DecimalText))}</dd>
        </>
      ))}
      <dt>{t('why.finalCharge')}</dt>
      <dd class="number">{withCurrency(formatNumber(total as DecimalText))}</dd>
    </dl>
  )
}
