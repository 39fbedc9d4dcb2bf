/** Tiers as a staircase: price of a unit, total of a usage, and the revision before the edit. */
import { useEffect, useState } from 'preact/hooks'
import type { BodyOf } from '../../api/call-types.ts'
import { call } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { Figure } from '../../api/figures.ts'
import { t } from '../../words/words.ts'
import { formatNumber, formatShort, moneyHeader, moneyText, withCurrency } from '../numbers.ts'
import { powersUpTo, ticksBetween } from '../ticks.ts'
import {
  type Point,
  type PriceStep,
  placeOf,
  pointsOf,
  type Scale,
  scaleOf,
  stepAt,
  stepsOf,
  totalPath,
} from './tier-steps.ts'
import type { Document } from './values.ts'

interface TierPlotProps {
  /** The price that contains the tiers: `rate`, `access`, `minimum_charge`. */
  readonly price: Document
  readonly tiers: readonly Document[]
  /** Tiers of the revision before the edit. */
  readonly before: readonly Document[] | null
  readonly method: string
  /** Usage type of the units; null for the price of cycles, which has no total. */
  readonly usaget: string | null
}

interface Total extends Point {
  /** Price before tax, as the API writes it. */
  readonly amount: Figure
}

const [WIDTH, HEIGHT] = [520, 180]
/** Room for the values at the axes. */
const MARGIN = { top: 28, side: 52, bottom: 40 }
const VIEW = [
  ...[-MARGIN.side, -MARGIN.top],
  ...[WIDTH + 2 * MARGIN.side, HEIGHT + MARGIN.top + MARGIN.bottom],
].join(' ')
/** Typing is not followed key by key. */
const ASK_AFTER_MS = 150

export function TierPlot({ price, tiers, before, method, usaget }: TierPlotProps) {
  const [isLog, setLog] = useState(false)
  const [index, setIndex] = useState<number | null>(null)
  const steps = stepsOf(tiers)
  const old = before === null ? [] : stepsOf(before)
  const scale = scaleOf([steps, old], isLog)
  const points = pointsOf(steps, scale, method)
  const totals = useTotals(usaget === null ? null : { price, method, points })
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    setIndex((from) => Math.max(0, Math.min(points.length - 1, (from ?? -1) + step)))
  }
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    const drawn = ((event.clientX - left) / width) * (WIDTH + 2 * MARGIN.side)
    const at = (drawn - MARGIN.side) / WIDTH
    const next = points.findIndex(({ units }) => placeOf(units, scale) >= at)
    setIndex(next < 0 ? points.length - 1 : next)
  }
  const units = index === null ? null : (points[index]?.units ?? null)
  const top = Math.max(0, ...totals.map(({ amount }) => Number(amount)))
  return (
    <figure class="tier-plot">
      <div
        role="img"
        aria-label={t('document.plot', { count: steps.length })}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move its cursor.
        tabIndex={0}
        onKeyDown={move}
        onPointerMove={point}
      >
        <svg viewBox={VIEW} aria-hidden="true">
          <path d={`M0 0V${HEIGHT}H${WIDTH}`} />
          <UnitAxis scale={scale} usaget={usaget} />
          <AmountAxis top={scale.height} title={t('document.axisPrice')} />
          {top > 0 && <AmountAxis top={top} title={t('document.axisTotal')} isAtEnd />}
          {old.length > 0 && <path class="plot-before" d={pathOf(old, scale)} />}
          <path class="plot-steps" d={pathOf(steps, scale)} />
          {steps.at(-1)?.to === null && (
            <text x={WIDTH + 4} y={HEIGHT + 4}>
              →
            </text>
          )}
          {totals.length > 0 && <path class="plot-total" d={lineOf(totals, scale, top)} />}
          {units !== null && <Cursor at={placeOf(units, scale) * WIDTH} />}
        </svg>
      </div>
      <figcaption>
        <span aria-live="polite">
          {units === null ? t('document.plotHint') : said(units, steps, totals)}
        </span>
        <label>
          <input type="checkbox" checked={isLog} onChange={() => setLog(!isLog)} />{' '}
          {t('document.log')}
        </label>
      </figcaption>
    </figure>
  )
}

function Cursor({ at }: { readonly at: number }) {
  return <path class="plot-cursor" d={`M${at} 0V${HEIGHT}`} />
}

function pathOf(steps: readonly PriceStep[], scale: Scale): string {
  const y = (height: number) => HEIGHT - (height / scale.height) * HEIGHT
  return steps
    .map(({ from, to, height }) => {
      const [left, right] = [placeOf(from, scale), to === null ? 1 : placeOf(to, scale)]
      return `M${left * WIDTH} ${y(height)}H${right * WIDTH}`
    })
    .join('')
}

/** The total has a scale of its own, up to its last value. */
function lineOf(totals: readonly Total[], scale: Scale, top: number): string {
  const drawn = totals.map((total) => ({ ...total, amount: Number(total.amount) }))
  const x = (units: number) => placeOf(units, scale) * WIDTH
  return totalPath(drawn, { x, y: (amount) => HEIGHT - (amount / (top || 1)) * HEIGHT })
}

interface UnitAxisProps {
  readonly scale: Scale
  readonly usaget: string | null
}

function UnitAxis({ scale, usaget }: UnitAxisProps) {
  const ticks = scale.isLog ? [0, ...powersUpTo(scale.units)] : ticksBetween(0, scale.units)
  return (
    <>
      {ticks.map((units) => {
        const x = placeOf(units, scale) * WIDTH
        return (
          <g key={units}>
            <path d={`M${x} ${HEIGHT}v4`} />
            <text x={x} y={HEIGHT + 17} text-anchor="middle">
              {formatShort(units)}
            </text>
          </g>
        )
      })}
      <text x={WIDTH / 2} y={HEIGHT + 34} text-anchor="middle">
        {usaget === null ? t('document.axisCycles') : t('document.axisUnits', { usaget })}
      </text>
    </>
  )
}

interface AmountAxisProps {
  readonly top: number
  readonly title: string
  readonly isAtEnd?: boolean
}

function AmountAxis({ top, title, isAtEnd = false }: AmountAxisProps) {
  const [x, mark, anchor] = isAtEnd ? [WIDTH, 4, 'start'] : [0, -4, 'end']
  return (
    <>
      {ticksBetween(0, top).map((amount) => {
        const y = HEIGHT - (amount / top) * HEIGHT
        return (
          <g key={amount}>
            <path d={`M${x} ${y}h${mark}`} />
            <text x={x + 2 * mark} y={y + 4} text-anchor={anchor}>
              {formatShort(amount)}
            </text>
          </g>
        )
      })}
      <text
        x={isAtEnd ? WIDTH + MARGIN.side : -MARGIN.side}
        y={-14}
        text-anchor={isAtEnd ? 'end' : 'start'}
      >
        {moneyHeader(title)}
      </text>
    </>
  )
}

function said(units: number, steps: readonly PriceStep[], totals: readonly Total[]): string {
  const step = stepAt(steps, units)
  const total = totals.find((each) => each.units === units)
  const parts = [
    t('document.atUnits', { units: formatNumber(units) }),
    step === null
      ? t('document.noTier')
      : t('document.inTier', {
          tier: step.tier,
          price: withCurrency(step.price),
          interval: step.interval,
        }),
    ...(total === undefined ? [] : [t('document.total', { total: moneyText(total.amount) })]),
  ]
  return parts.join(' · ')
}

interface TotalsQuery {
  readonly price: Document
  readonly method: string
  readonly points: readonly Point[]
}

/** Totals of the API; none while the price is not valid. */
function useTotals(query: TotalsQuery | null): readonly Total[] {
  const [totals, setTotals] = useState<readonly Total[]>([])
  const key = JSON.stringify(query)
  useEffect(() => {
    if (query === null) return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      readTotals(query, controller.signal).then(setTotals, (error: unknown) => {
        if (error instanceof Refusal) setTotals([])
      })
    }, ASK_AFTER_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key])
  return totals
}

async function readTotals({ price, method, points }: TotalsQuery, signal: AbortSignal) {
  const quoted = {
    name: 'total',
    catalogue: {
      rates: [{ key: 'R', pricing_method: method, rates: { units: { BASE: price } } }],
      plans: [{ name: 'P', connection_type: 'postpaid' }],
    },
    subscriber: { plan: 'P' },
    events: points.map(({ units }) => ({ usaget: 'units', usagev: units, rate: 'R' })),
  }
  const body = { cases: [quoted] } as BodyOf<'api/quote'>
  const details = await call('api/quote', body, { signal, isSilent: true })
  const [answer] = details as { readonly results?: readonly { readonly aprice: Figure }[] }[]
  return (answer?.results ?? []).map(({ aprice }, index) => {
    return { ...(points[index] as Point), amount: aprice }
  })
}
