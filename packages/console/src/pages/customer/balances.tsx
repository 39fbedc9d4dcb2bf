/** Balances with their bars: one scale for each unit, the numbers beside. */
import { browserMs } from '../../api/clock.ts'
import type { DecimalText } from '../../api/figures.ts'
import { Bar } from '../../parts/bar.tsx'
import { type BarScale, scaleOf } from '../../parts/bar-scale.ts'
import { formatMoney, formatNumber, moneyHeader } from '../../parts/numbers.ts'
import { isForever, Time } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { type BalanceRow, MONEY } from './balance-view.ts'

const SOON_MS = 3 * 24 * 3_600_000

export function Balances({ rows }: { readonly rows: readonly BalanceRow[] }) {
  const units = [...new Set(rows.map(({ unit }) => unit))]
  return (
    <>
      {units.map((unit) => {
        const own = rows.filter((row) => row.unit === unit)
        const scale = scaleOf(own.map(({ pieces }) => pieces))
        return (
          <div key={unit} class="balances">
            <h3 dir="auto">{unitTitle(unit)}</h3>
            <ul>
              {own.map((row) => (
                <BalanceItem key={row.id} row={row} scale={scale} />
              ))}
            </ul>
          </div>
        )
      })}
    </>
  )
}

function unitTitle(unit: string): string {
  if (unit === MONEY) return moneyHeader(t('balances.money'))
  return unit === '' ? t('balances.includedUnits') : t('balances.units', { usaget: unit })
}

interface ItemProps {
  readonly row: BalanceRow
  readonly scale: BarScale
}

function BalanceItem({ row, scale }: ItemProps) {
  const { to, kind, isShared } = row
  const isExpiring = to !== null && endsSoon(to)
  const amounts = amountsOf(row)
  const name = nameOf(row)
  const label = [name, ...amounts.map(({ title, text }) => `${title} ${text}`)].join(', ')
  return (
    <li class={`balance ${kind}`}>
      <div class="balance-name" dir="auto">
        <strong>{name}</strong>
        {isShared && <span class="muted"> {t('balances.shared')}</span>}
      </div>
      <Bar pieces={row.pieces} scale={scale} label={label} isExpiring={isExpiring} />
      <dl class="amounts">
        {amounts.map(({ title, text, mark }) => (
          <div key={title} class={mark}>
            <dt>{title}</dt>
            <dd class="number">{text}</dd>
          </div>
        ))}
      </dl>
      {to !== null && !isForever(to) && (
        <p class={isExpiring ? 'mark warn' : 'muted'}>
          {isExpiring && `▲ ${t('balances.soon')} `}
          {t('balances.until')} <Time value={to} />
        </p>
      )}
    </li>
  )
}

function nameOf({ kind, name, holder }: BalanceRow): string {
  if (kind === 'debt') return t('balances.debt')
  if (kind === 'postpaid') return t('balances.postpaid')
  return holder === '' ? name : t('balances.group', { name, holder })
}

interface Amount {
  readonly title: string
  readonly text: string
  readonly mark: string
}

/** Free first: it is what is asked for most. */
function amountsOf(row: BalanceRow): readonly Amount[] {
  const { free, reserved, used, total, debt, lapsed, unit } = row
  const named = [
    ['free', free],
    ['reserved', row.kind === 'debt' ? null : reserved],
    ['used', row.kind === 'debt' ? null : used],
    ['total', total],
    ['debt', debt],
    ['lapsed', lapsed],
  ] as const
  return named.flatMap(([mark, amount]) =>
    amount === null ? [] : [{ mark, title: t(`balances.${mark}`), text: amountText(amount, unit) }],
  )
}

function amountText(amount: string, unit: string): string {
  if (amount === 'UNLIMITED') return t('balances.unlimited')
  return unit === MONEY ? formatMoney(amount as DecimalText) : formatNumber(amount as DecimalText)
}

/** By the clock of the browser: a hint only, the date stands beside it. */
function endsSoon(to: string): boolean {
  const leftMs = new Date(to).getTime() - browserMs()
  return leftMs > 0 && leftMs <= SOON_MS
}
