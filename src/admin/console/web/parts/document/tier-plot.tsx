/** Tiers as a staircase: price of a unit, total of a usage, and the revision before the edit. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { Figure } from '../../api/figures.ts'
import { t } from '../../words/words.ts'
import { formatMoney, formatNumber } from '../numbers.ts'
import {
  type PriceStep,
  placeOf,
  type Scale,
  samplesOf,
  scaleOf,
  stepAt,
  stepsOf,
} from './tier-steps.ts'
import type { Document } from './values.ts'

interface TierPlotProps {
  /** The price that contains the tiers: `rate`, `access`, `minimum_charge`. */
  readonly price: Document
  readonly tiers: readonly Document[]
  /** Tiers of the revision before the edit. */
  readonly before: readonly Document[] | null
  readonly method: string
  /** Whether a usage has a total: the price of cycles has none. */
  readonly hasTotal: boolean
}

interface Total {
  readonly units: number
  /** Price before tax, as the API writes it. */
  readonly amount: Figure
}

const [WIDTH, HEIGHT] = [520, 180]
const SAMPLES = 40
/** Typing is not followed key by key. */
const ASK_AFTER_MS = 150

export function TierPlot({ price, tiers, before, method, hasTotal }: TierPlotProps) {
  const [isLog, setLog] = useState(false)
  const [index, setIndex] = useState<number | null>(null)
  const steps = stepsOf(tiers)
  const old = before === null ? [] : stepsOf(before)
  const scale = scaleOf([steps, old], isLog)
  const samples = samplesOf(steps, scale, SAMPLES)
  const asked = hasTotal ? { price, method, samples } : null
  const totals = useTotals(asked)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    setIndex((from) => Math.max(0, Math.min(samples.length - 1, (from ?? -1) + step)))
  }
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    const at = (event.clientX - left) / width
    const next = samples.findIndex((units) => placeOf(units, scale) >= at)
    setIndex(next < 0 ? samples.length - 1 : next)
  }
  const units = index === null ? null : (samples[index] ?? null)
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
        <svg viewBox={`-4 -8 ${WIDTH + 8} ${HEIGHT + 24}`} aria-hidden="true">
          <path class="plot-axis" d={`M0 0V${HEIGHT}H${WIDTH}`} />
          {old.length > 0 && <path class="plot-before" d={pathOf(old, scale)} />}
          <path class="plot-steps" d={pathOf(steps, scale)} />
          {steps.at(-1)?.to === null && (
            <text class="plot-open" x={WIDTH} y={HEIGHT + 14}>
              →
            </text>
          )}
          {totals.length > 0 && <polyline class="plot-total" points={lineOf(totals, scale)} />}
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
function lineOf(totals: readonly Total[], scale: Scale): string {
  const top = Math.max(...totals.map(({ amount }) => Number(amount))) || 1
  const points = totals.map(({ units, amount }) => {
    return `${placeOf(units, scale) * WIDTH},${HEIGHT - (Number(amount) / top) * HEIGHT}`
  })
  return ['0', HEIGHT].join(',').concat(' ', points.join(' '))
}

function said(units: number, steps: readonly PriceStep[], totals: readonly Total[]): string {
  const step = stepAt(steps, units)
  const total = totals.find((each) => each.units === units)
  const parts = [
    t('document.atUnits', { units: formatNumber(units) }),
    step === null
      ? t('document.noTier')
      : t('document.inTier', { tier: step.tier, price: step.price, interval: step.interval }),
    ...(total === undefined ? [] : [t('document.total', { total: formatMoney(total.amount) })]),
  ]
  return parts.join(' · ')
}

interface Asked {
  readonly price: Document
  readonly method: string
  readonly samples: readonly number[]
}

/** Totals of the API; none while the price is not valid. */
function useTotals(asked: Asked | null): readonly Total[] {
  const [totals, setTotals] = useState<readonly Total[]>([])
  const key = JSON.stringify(asked)
  useEffect(() => {
    if (asked === null) return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      readTotals(asked, controller.signal).then(setTotals, (error: unknown) => {
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

async function readTotals({ price, method, samples }: Asked, signal: AbortSignal) {
  const quoted = {
    name: 'total',
    catalogue: {
      rates: [{ key: 'R', pricing_method: method, rates: { units: { BASE: price } } }],
      plans: [{ name: 'P', connection_type: 'postpaid' }],
    },
    subscriber: { plan: 'P' },
    events: samples.map((units) => ({ usaget: 'units', usagev: units, rate: 'R' })),
  }
  const [answer] = (await call('api/quote', { cases: [quoted] } as never, {
    signal,
    isSilent: true,
  })) as unknown as { readonly results?: readonly { readonly aprice: Figure }[] }[]
  return (answer?.results ?? []).map(({ aprice }, index) => {
    return { units: samples[index] ?? 0, amount: aprice }
  })
}
