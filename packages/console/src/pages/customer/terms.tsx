/** The revision of an instant, with the prices of that instant. */
import { useRead } from '../../api/read.ts'
import { leafText, textIn } from '../../parts/differences.ts'
import { Facts } from '../../parts/facts.tsx'
import { moneyHeader } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import type { Revision } from '../../parts/revisions.ts'
import { ReadView } from '../../parts/state.tsx'
import { Time, ValueText } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { readTermsAt, type TermsAt } from './data.ts'
import { offerPrices, type PriceText, ratePrices } from './prices.ts'
import { servicesIn } from './revisions.ts'

interface TermsProps {
  /** Null for an account. */
  readonly sid: number | null
  readonly revision: Revision
  /** As the API reads it. */
  readonly at: string
}

const HIDDEN: ReadonlySet<string> = new Set([
  '_id',
  'revision_info',
  'services',
  'type',
  'sid',
  'aid',
])

export function Terms({ sid, revision, at }: TermsProps) {
  const plan = textIn(revision, 'plan')
  const services = servicesIn(revision).map(({ name }) => name)
  const query = { sid, plan, services, at }
  const reading = useRead(`terms ${JSON.stringify(query)}`, (signal) => readTermsAt(query, signal))
  const facts = [
    ...Object.keys(revision)
      .filter((name) => !HIDDEN.has(name))
      .map((name) => ({ title: name, value: <Value value={revision[name]} /> })),
    { title: t('customer.services'), value: services.join(', ') || t('customer.none') },
  ]
  return (
    <div class="terms">
      <div>
        <h3>{t('customer.revisionAt', { at })}</h3>
        <Facts facts={facts} />
      </div>
      <div>
        <h3>{t('customer.pricesAt', { at })}</h3>
        <ReadView reading={reading}>{(terms) => <Prices plan={plan} terms={terms} />}</ReadView>
      </div>
    </div>
  )
}

function Value({ value }: { readonly value: unknown }) {
  if (typeof value === 'object' && value !== null && 'sec' in value) {
    return <Time value={isoOf(value)} />
  }
  return (
    <ValueText text={Array.isArray(value) ? value.map(leafText).join(', ') : leafText(value)} />
  )
}

function Prices({ plan, terms }: { readonly plan: string; readonly terms: TermsAt }) {
  const offers = [...terms.plans, ...terms.services].flatMap(offerPrices)
  const rates = terms.rates.flatMap((rate) => ratePrices(rate, plan))
  return (
    <>
      <table class="plain-table">
        <caption class="hidden">{t('customer.pricesAt', { at: '' })}</caption>
        <thead>
          <tr>
            <th scope="col">{t('customer.priceOf')}</th>
            <th scope="col">{moneyHeader(t('customer.price'))}</th>
          </tr>
        </thead>
        <tbody>
          {[...offers, ...rates].map(({ of, price }: PriceText) => (
            <tr key={of}>
              <th scope="row" dir="auto">
                {of}
              </th>
              <td>{price}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="muted">{t('customer.whichRates')}</p>
    </>
  )
}
