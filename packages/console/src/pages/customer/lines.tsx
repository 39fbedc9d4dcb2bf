/** Lines of the customer, newest first, and why one of them has its price. */
import { useEffect } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import { useEscape, useShortcuts } from '../../frame/keys.ts'
import { location, setQuery } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textIn } from '../../parts/differences.ts'
import { moneyHeader, withCurrency } from '../../parts/numbers.ts'
import { isoOf } from '../../parts/paging.ts'
import { ReadView } from '../../parts/state.tsx'
import { Pager, pageKey, Table } from '../../parts/table.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { type Line, readLines } from './data.ts'
import { priceOf, unitsOf, whatOf } from './line-view.ts'
import { Why } from './why.tsx'

export function Lines({ sid }: { readonly sid: number }) {
  const after = pageKey()
  const reading = useRead(`lines ${sid} ${after}`, (signal) => readLines(sid, after, signal))
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
        <ReadView
          reading={reading}
          rows={12}
          isEmpty={(page) => page.rows.length === 0 && after === null}
          empty={t('lines.none')}
        >
          {(page) => (
            <>
              <LineTable rows={page.rows} chosen={chosen} />
              <div class="buttons">
                <Pager next={page.next} />
                <LinesCsv sid={sid} />
              </div>
            </>
          )}
        </ReadView>
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

interface TableProps {
  readonly rows: readonly Line[]
  readonly chosen: Line | null
}

function LineTable({ rows, chosen }: TableProps) {
  const open = ({ stamp }: Line) => setQuery({ line: stamp })
  const columns = [
    { title: timeHeader(t('lines.time')), cell: (line: Line) => <LineTime line={line} /> },
    { title: t('lines.what'), cell: whatOf },
    { title: t('lines.rate'), cell: (line: Line) => textIn(line, 'arate_key') },
    { title: t('lines.units'), cell: unitsOf, isNumber: true },
    { title: moneyHeader(t('lines.price')), cell: priceOf, isNumber: true },
    {
      title: t('lines.why'),
      cell: (line: Line) => (
        <button
          type="button"
          class="why plain"
          aria-label={t('lines.whyOf', { what: whatOf(line), price: withCurrency(priceOf(line)) })}
          onClick={() => open(line)}
        >
          {t('lines.why')}
        </button>
      ),
    },
  ]
  return (
    <Table
      caption={t('records.lines')}
      columns={columns}
      rows={rows}
      keyOf={({ stamp }) => stamp}
      onOpen={open}
      isCurrent={(line) => line === chosen}
    />
  )
}

function LineTime({ line }: { readonly line: Line }) {
  return <Time value={isoOf(line.urt)} precision="second" />
}

const CSV_COLUMNS = [
  'urt',
  'type',
  'usaget',
  'arate_key',
  'usagev',
  'aprice',
  'final_charge',
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
