/** The list of open sessions, and the selection of those to release, by mouse and keys. */
import { useRef } from 'preact/hooks'
import { keyOf, type OpenSession } from '../../api/sessions.ts'
import { useShortcuts } from '../../frame/keys.ts'
import { link } from '../../frame/routes.ts'
import { formatMoney, formatNumber, moneyHeader } from '../../parts/numbers.ts'
import { missingText } from '../../parts/rights.ts'
import { type Column, Pager, Table, usePageKeys } from '../../parts/table.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'

interface SessionListProps {
  readonly sessions: readonly OpenSession[]
  readonly next: string | null
  readonly selected: readonly OpenSession[]
  readonly onSelect: (keys: ReadonlySet<string>) => void
  /** Asks before it releases the selected sessions. */
  readonly onRelease: () => void
}

export function SessionList(props: SessionListProps) {
  const { sessions, next, selected, onSelect, onRelease } = props
  const missing = missingText('api/releasesessions')
  const keys = new Set(selected.map(keyOf))
  const toggle = (session: OpenSession) => {
    const key = keyOf(session)
    onSelect(new Set(keys.has(key) ? [...keys].filter((each) => each !== key) : [...keys, key]))
  }
  const selectAll = () => {
    onSelect(new Set(keys.size === sessions.length ? [] : sessions.map(keyOf)))
  }
  const release = () => {
    if (missing === null && selected.length > 0) onRelease()
  }
  useListKeys({ selectAll, release })
  usePageKeys()
  if (sessions.length === 0) return <Pager next={next} />
  return (
    <>
      <div class="buttons selection">
        <button type="button" onClick={selectAll}>
          {t(keys.size === sessions.length ? 'sessionlist.selectNone' : 'sessionlist.selectAll')}
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
        columns={[selectColumn(keys, toggle), ...columns()]}
        rows={sessions}
        keyOf={keyOf}
        onOpen={toggle}
        isCurrent={(session) => keys.has(keyOf(session))}
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

function selectColumn(
  keys: ReadonlySet<string>,
  toggle: (session: OpenSession) => void,
): Column<OpenSession> {
  return {
    title: t('sessionlist.select'),
    cell: (session) => (
      <input
        type="checkbox"
        checked={keys.has(keyOf(session))}
        aria-label={t('sessionlist.selectOne', { id: session.session_id })}
        onChange={() => toggle(session)}
      />
    ),
  }
}

function columns(): Column<OpenSession>[] {
  const services =
    (cell: (service: OpenSession['services'][number]) => string) =>
    ({ services: all }: OpenSession) =>
      all.map((service, index) => <div key={index}>{cell(service)}</div>)
  return [
    {
      title: t('sessionlist.id'),
      cell: ({ session_id: id, origin }) => (
        <>
          <span class="id">{id}</span>
          <div class="muted id">{origin}</div>
        </>
      ),
    },
    {
      title: t('sessionlist.subscriber'),
      cell: ({ sid }) => <a href={link(`customer/sid/${sid}`)}>{String(sid)}</a>,
    },
    {
      title: t('sessionlist.account'),
      cell: ({ aid }) => <a href={link(`customer/aid/${aid}`)}>{String(aid)}</a>,
    },
    { title: timeHeader(t('sessionlist.opened')), cell: ({ opened }) => <Time value={opened} /> },
    {
      title: timeHeader(t('sessionlist.reported')),
      cell: ({ last_report: at }) => (at === null ? '–' : <Time value={at} />),
    },
    {
      title: timeHeader(t('sessionlist.expires')),
      cell: ({ expires }) => <Time value={expires} />,
    },
    { title: t('sessionlist.usaget'), cell: services(({ usaget }) => usaget) },
    {
      title: t('sessionlist.reserved'),
      isNumber: true,
      cell: services(({ reserved }) => formatNumber(reserved)),
    },
    {
      title: moneyHeader(t('sessionlist.money')),
      isNumber: true,
      cell: services(({ reserved_money: money }) => formatMoney(money)),
    },
    {
      title: t('sessionlist.used'),
      isNumber: true,
      cell: services(({ used }) => formatNumber(used)),
    },
  ]
}
