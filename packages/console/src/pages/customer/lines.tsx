/** Lines of the customer, newest first, and why one of them has its price. */
import { useEffect } from 'preact/hooks'
import { useEscape, useShortcuts } from '../../frame/keys.ts'
import { location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { moneyColumn, numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { textIn } from '../../parts/differences.ts'
import { List, useList } from '../../parts/list.tsx'
import { withCurrency } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { type Column, pageKey } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { type Line, readLines } from './data.ts'
import { priceOf, unitsOf, whatOf } from './line-view.ts'
import { Why } from './why.tsx'

export function Lines({ sid }: { readonly sid: number }) {
  const after = pageKey()
  const reading = useList(`lines ${sid}`, (from, signal) => readLines(sid, from, signal))
  const rows = reading.state.value.data?.rows ?? []
  const stamp = location.value.query['line'] ?? null
  const chosen = rows.find((line) => line.stamp === stamp) ?? null
  const isThere = reading.state.value.data !== null
  useEffect(() => {
    // A further page of lines begins below the balances; the frame knows the way back.
    if (isThere && after !== null && window.scrollY === 0) {
      document.querySelector('.tabs')?.scrollIntoView()
    }
  }, [isThere, after])
  useEscape(chosen !== null, closeWhy)
  useShortcuts([{ keys: 'w', title: 'keys.why', run: explainFocused }])
  return (
    <div class={chosen === null ? 'lines' : 'lines with-why'}>
      <div>
        <List
          reading={reading}
          height={12}
          empty={t('lines.none')}
          beside={<LinesCsv sid={sid} />}
          caption={t('records.lines')}
          columns={columns()}
          keyOf={({ stamp: each }) => each}
          onOpen={open}
          isCurrent={(line) => line === chosen}
        />
      </div>
      {chosen !== null && <Why line={chosen} onClose={closeWhy} />}
    </div>
  )
}

/** The focus goes back to the row. */
function closeWhy(): void {
  const button = document.querySelector<HTMLElement>('.lines tr[aria-current] button.why')
  setQuery({ line: null })
  button?.focus()
}

/** The line of the focused row, otherwise the first one. */
function explainFocused(): void {
  const row = document.activeElement?.closest('tr') ?? document.querySelector('.lines tbody tr')
  row?.querySelector<HTMLButtonElement>('button.why')?.click()
}

const open = ({ stamp }: Line) => setQuery({ line: stamp })

const columns = (): Column<Line>[] => [
  timeColumn('lines.time', ({ urt }) => isoOf(urt), 'second'),
  textColumn('lines.what', whatOf),
  textColumn('lines.rate', (line) => textIn(line, 'arate_key')),
  numberColumn('lines.units', unitsOf),
  moneyColumn('lines.price', priceOf),
  textColumn('lines.why', (line) => (
    <button
      type="button"
      class="why plain"
      aria-label={t('lines.whyOf', { what: whatOf(line), price: withCurrency(priceOf(line)) })}
      onClick={() => open(line)}
    >
      {t('lines.why')}
    </button>
  )),
]

const CSV_COLUMNS = [
  'urt',
  'type',
  'usaget',
  'arate_key',
  'usagev',
  'aprice',
  'final_charge',
  'prepriced',
  'plan',
  'billrun',
  'session_id',
  'stamp',
] as const

function reportOf(sid: number): string {
  return JSON.stringify({
    entity: 'usage',
    type: 0,
    columns: CSV_COLUMNS.map((name) => ({ key: name, field_name: name, label: name })),
    conditions: [{ field: 'sid', op: 'eq', value: sid }],
    sorts: [{ field: 'urt', op: -1 }],
  })
}

/** Sent while the lines are read: the API makes it, as a report. */
function LinesCsv({ sid }: { readonly sid: number }) {
  return (
    <form method="post" action="api/report">
      <input type="hidden" name="action" value="exportCSVReport" />
      <input type="hidden" name="report" value={reportOf(sid)} />
      <input type="hidden" name="file_name" value={`lines_${sid}`} />
      <ActionButton action="api/report" isBrief>
        {t('lines.csv')}
      </ActionButton>
    </form>
  )
}
