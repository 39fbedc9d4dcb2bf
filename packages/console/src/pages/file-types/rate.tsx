/** The stage `rate`: the subscriber that was found, and the price of each service. */
import type { Figure } from '../../api/figures.ts'
import { link } from '../../frame/routes.ts'
import { moneyColumn, numberColumn, textColumn } from '../../parts/columns.tsx'
import { formatMoney, formatNumber } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { type CheckStep, FOUND, isRecord, PRICE } from './stages.ts'

interface RateStageProps {
  readonly steps: readonly CheckStep[]
  readonly missing: string | null
}

export function RateStage({ steps, missing }: RateStageProps) {
  if (steps.length === 0) return missing === null ? null : <p>{missing}</p>
  const found = steps.find(({ step }) => step === FOUND)
  const price = steps.find(({ step }) => step === PRICE)
  return (
    <>
      {found !== undefined && <Found step={found} />}
      {price !== undefined && <Prices result={price.result} />}
    </>
  )
}

function Found({ step: { ok, result } }: { readonly step: CheckStep }) {
  if (typeof result === 'string') return <p>{result}</p>
  if (!isRecord(result)) return null
  if (!ok) return <LookedFor lookups={result['looked_for']} />
  const { key, value, sid, aid, plan } = result
  return (
    <p>
      <a href={link(`customer/sid/${String(sid)}`)}>
        {t('search.subscriber', { sid: String(sid) })}
      </a>
      {', '}
      <a href={link(`customer/aid/${String(aid)}`)}>{t('search.account', { aid: String(aid) })}</a>
      {', '}
      {t('filetypes.found', {
        key: String(key),
        value: String(value),
        plan: String(plan),
      })}
    </p>
  )
}

function LookedFor({ lookups }: { readonly lookups: unknown }) {
  if (!Array.isArray(lookups)) return null
  const text = lookups.length === 0 ? t('filetypes.noLookup') : lookups.map(String).join(', ')
  return <p>{t('filetypes.lookedFor', { lookups: text })}</p>
}

interface PricedService {
  readonly usaget: string
  readonly rating_group?: Figure
  readonly requested: Figure | null
  readonly granted: Figure
  readonly why: string
  readonly code: Figure
  readonly rate?: string
  readonly aprice?: Figure
  readonly final_charge?: Figure
}

function Prices({ result }: { readonly result: unknown }) {
  if (!isRecord(result)) return null
  const services = Array.isArray(result['services']) ? result['services'] : []
  if (services.length === 0) return null
  return (
    <Table
      caption={t('filetypes.prices')}
      hasCaption
      columns={columns()}
      rows={services as readonly PricedService[]}
    />
  )
}

function columns(): Column<PricedService>[] {
  const units = (figure: Figure | null) => {
    const isGiven = figure !== null && figure !== -1
    return isGiven ? formatNumber(figure) : t('filetypes.unspecified')
  }
  const money = (figure: Figure | undefined) => (figure === undefined ? '–' : formatMoney(figure))
  return [
    textColumn('filetypes.usaget', ({ usaget, rating_group: group }) => {
      return group === undefined ? usaget : t('filetypes.group', { usaget, group: String(group) })
    }),
    textColumn('filetypes.outcome', ({ why, code }) => {
      return t('filetypes.reason', { why, code: String(code) })
    }),
    numberColumn('filetypes.requested', ({ requested }) => units(requested)),
    numberColumn('filetypes.granted', ({ granted }) => formatNumber(granted)),
    textColumn('filetypes.rate', ({ rate }) => <span class="id">{rate ?? '–'}</span>),
    moneyColumn('filetypes.aprice', ({ aprice }) => money(aprice)),
    moneyColumn('filetypes.final', ({ final_charge: final }) => money(final)),
  ]
}
