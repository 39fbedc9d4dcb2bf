/** Revisions of the customer, and what was valid at a chosen instant. */
import { nodeZone } from '../../api/session.ts'
import { location, setQuery } from '../../frame/routes.ts'
import {
  isValidAt,
  type Revision,
  type RevisionView,
  revisionViews,
} from '../../parts/revisions.ts'
import { formatPeriod, precisionOf, type TimePrecision } from '../../parts/time.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import { t } from '../../words/words.ts'
import { at, presentRevision } from './as-of.ts'
import type { Customer } from './data.ts'
import { Terms } from './terms.tsx'

export function History({ customer }: { readonly customer: Customer }) {
  const chosen = at(location.value.query)
  const { sid, revisions } = customer
  const then = chosen === null ? null : revisions.find((each) => isValidAt(each, chosen))
  const selected = chosen === null ? presentRevision(revisions) : (then ?? null)
  const precision = precisionOf(revisions)
  return (
    <section aria-labelledby="history">
      <header class="section-header">
        <h2 id="history">{t('customer.history')}</h2>
        <AsOf chosen={chosen} />
      </header>
      <Timeline
        label={t('customer.history')}
        entries={revisionViews(revisions).map((view) => entryOf(view, selected, precision))}
        onChoose={(id) => setQuery({ at: beginOf(revisions, id) })}
      />
      {chosen !== null &&
        (selected === null ? (
          <p class="state">{t('customer.noneAt')}</p>
        ) : (
          <Terms sid={sid} revision={selected} at={chosen} />
        ))}
    </section>
  )
}

function entryOf(view: RevisionView, selected: Revision | null, precision: TimePrecision) {
  const { id, plan, changed, isAfterGap } = view
  const texts = [
    ...(plan === '' ? [] : [t('customer.planNamed', { plan })]),
    ...(changed.length === 0 ? [] : [t('customer.changed', { fields: changed.join(', ') })]),
  ]
  const period = formatPeriod(view, precision)
  return {
    key: id,
    period,
    text: texts.join(' · '),
    isAfterGap,
    isCurrent: id === selected?._id.$id,
  }
}

/** In the zone of the node, as the API writes it. */
function beginOf(revisions: readonly Revision[], id: string): string | null {
  const found = revisions.find(({ _id }) => _id.$id === id)
  return found === undefined ? null : found.from.slice(0, 19)
}

function AsOf({ chosen }: { readonly chosen: string | null }) {
  const date = chosen?.slice(0, 10) ?? ''
  const choose = (event: Event) => {
    const { value } = event.currentTarget as HTMLInputElement
    setQuery({ at: value === '' ? null : value })
  }
  return (
    <span class="as-of">
      <label>
        {t('customer.asOf', { zone: nodeZone.value })}{' '}
        <input type="date" value={date} onChange={choose} />
      </label>
      {chosen !== null && (
        <button type="button" onClick={() => setQuery({ at: null })}>
          {t('customer.now')}
        </button>
      )}
    </span>
  )
}
