/** Open sessions of the customer. */
import type { DecimalText } from '../../api/figures.ts'
import type { Page } from '../../api/records.ts'
import { keyOf, type OpenSession } from '../../api/sessions.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { formatNumber, moneyText } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'

interface SessionsProps {
  readonly page: Page<OpenSession>
  /** Asks before it releases a session. */
  readonly onRelease: (session: OpenSession) => void
}

export function Sessions({ page, onRelease }: SessionsProps) {
  const columns: Column<OpenSession>[] = [
    textColumn('sessions.id', (one) => <SessionName session={one} />),
    numberColumn('sessions.reserved', reservedText),
    numberColumn('sessions.used', usedText),
    timeColumn('sessions.expires', ({ expires }) => expires),
    textColumn('sessions.action', (one) => (
      <ActionButton
        action="api/releasesessions"
        kind="danger"
        isBrief
        label={t('release.one', { id: one.session_id })}
        onAct={() => onRelease(one)}
      >
        {t('sessions.release')}
      </ActionButton>
    )),
  ]
  return (
    <>
      <Table caption={t('sessions.title')} columns={columns} rows={page.rows} keyOf={keyOf} />
      {page.next !== null && <p class="muted">{t('sessions.more')}</p>}
    </>
  )
}

function SessionName({ session }: { readonly session: OpenSession }) {
  return (
    <>
      <span class="id">{session.session_id}</span>{' '}
      <span class="muted">{session.services.map(({ usaget }) => usaget).join(', ')}</span>
    </>
  )
}

function reservedText({ services }: OpenSession): string {
  return services
    .map(({ reserved, reserved_money: money }) => {
      const units = formatNumber(reserved)
      return Number(money) === 0 ? units : `${units} (${moneyText(money as DecimalText)})`
    })
    .join(', ')
}

function usedText({ services }: OpenSession): string {
  return services.map(({ used }) => formatNumber(used)).join(', ')
}
