/** The list of open sessions, and the selection of those to release, by mouse and keys. */
import { useRef } from 'preact/hooks'
import { keyOf, type OpenSession } from '../../api/sessions.ts'
import { useShortcuts } from '../../frame/keys.ts'
import {
  customerColumn,
  moneyColumn,
  numberColumn,
  textColumn,
  timeColumn,
} from '../../parts/columns.tsx'
import { formatMoney, formatNumber } from '../../parts/numbers.ts'
import { missingText } from '../../parts/rights.ts'
import type { Selection } from '../../parts/selection.tsx'
import { type Column, Pager, Table, usePageKeys } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'

interface SessionListProps {
  readonly sessions: readonly OpenSession[]
  readonly next: string | null
  readonly selection: Selection<OpenSession>
  /** Asks before it releases the selected sessions. */
  readonly onRelease: (selected: readonly OpenSession[]) => void
}

export function SessionList({ sessions, next, selection, onRelease }: SessionListProps) {
  const missing = missingText('api/releasesessions')
  const selected = sessions.filter(selection.has)
  const selectAll = () => selection.toggleAll(sessions)
  const release = () => {
    if (missing === null && selected.length > 0) onRelease(selected)
  }
  useListKeys({ selectAll, release })
  usePageKeys()
  if (sessions.length === 0) return <Pager next={next} />
  const isAll = selected.length === sessions.length
  const select = selection.column('sessionlist.select', ({ session_id: id }) => {
    return t('sessionlist.selectOne', { id })
  })
  return (
    <>
      <div class="buttons selection">
        <button type="button" onClick={selectAll}>
          {t(isAll ? 'sessionlist.selectNone' : 'sessionlist.selectAll')}
        </button>
        <button
          type="button"
          class="danger"
          aria-disabled={missing !== null || selected.length === 0}
          aria-describedby={missing === null ? undefined : 'release-missing'}
          onClick={release}
        >
          {t('sessionlist.releaseSelected', { count: selected.length })}
        </button>
        {missing !== null && <span id="release-missing">{missing}</span>}
      </div>
      <Table
        caption={t('sessionlist.open')}
        columns={[select, ...columns()]}
        rows={sessions}
        keyOf={keyOf}
        onOpen={selection.toggle}
        isCurrent={selection.has}
      />
      <Pager next={next} />
    </>
  )
}

interface ListKeys {
  readonly selectAll: () => void
  readonly release: () => void
}

function useListKeys(keys: ListKeys): void {
  const current = useRef(keys)
  current.current = keys
  useShortcuts([
    { keys: 'a', title: 'sessionlist.selectAll', run: () => current.current.selectAll() },
    { keys: 'r', title: 'sessionlist.releaseKey', run: () => current.current.release() },
  ])
}

function columns(): Column<OpenSession>[] {
  const services =
    (cell: (service: OpenSession['services'][number]) => string) =>
    ({ services: all }: OpenSession) =>
      all.map((service, index) => <div key={index}>{cell(service)}</div>)
  const units = (name: 'reserved' | 'used') => services((each) => formatNumber(each[name]))
  const money = services(({ reserved_money: of }) => formatMoney(of))
  const usaget = services((each) => each.usaget)
  return [
    textColumn('sessionlist.id', ({ session_id: id, origin }) => (
      <>
        <span class="id">{id}</span>
        <div class="muted id">{origin}</div>
      </>
    )),
    customerColumn('sessionlist.subscriber', 'sid', ({ sid }) => sid),
    customerColumn('sessionlist.account', 'aid', ({ aid }) => aid),
    timeColumn('sessionlist.opened', ({ opened }) => opened),
    timeColumn('sessionlist.reported', ({ last_report: at }) => at),
    timeColumn('sessionlist.expires', ({ expires }) => expires),
    textColumn('sessionlist.usaget', usaget),
    numberColumn('sessionlist.reserved', units('reserved')),
    moneyColumn('sessionlist.money', money),
    numberColumn('sessionlist.used', units('used')),
  ]
}
