/** Why a line has its price: a sentence, the chart and the steps as a table. */
import { useEffect } from 'preact/hooks'
import type { DecimalText } from '../../api/figures.ts'
import { useRead } from '../../api/read.ts'
import { membersOf } from '../../api/records.ts'
import { showBeside } from '../../frame/scroll.ts'
import { textIn } from '../../parts/differences.ts'
import { explainLine } from '../../parts/explain/explain.ts'
import type { Speech } from '../../parts/explain/sentences.ts'
import type { RatedLine } from '../../parts/explain/steps.ts'
import { Facts } from '../../parts/facts.tsx'
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
  const facts = Object.entries(line).map(([title, value]) => {
    return { title, value: typeof value === 'object' ? '' : String(value) }
  })
  return (
    <>
      <p>{t('why.notRated', { type: line.type })}</p>
      <Facts facts={facts} />
    </>
  )
}

/** The sums are those of the line. */
function Charge({ line }: { readonly line: Line }) {
  const { taxes = [] } = membersOf(line.tax_data)
  const total = membersOf(line.exact).final_charge ?? textIn(line, 'final_charge')
  if (total === '') return null
  const money = (title: string, text: string) => {
    return { title, value: withCurrency(text), isNumber: true }
  }
  return (
    <Facts
      facts={[
        money(t('why.price'), priceOf(line)),
        ...taxes.map(({ description = '', amount }) => {
          return money(t('why.tax', { description }), formatNumber(amount as DecimalText))
        }),
        money(t('why.finalCharge'), formatNumber(total as DecimalText)),
      ]}
    />
  )
}
