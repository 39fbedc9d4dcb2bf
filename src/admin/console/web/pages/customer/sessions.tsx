/** Open sessions of the customer, and their release. */
import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { Refusal } from '../../api/errors.ts'
import type { DecimalText } from '../../api/figures.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { formatMoney, formatNumber } from '../../parts/numbers.ts'
import { Table } from '../../parts/table.tsx'
import { Time, timeHeader } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import type { OpenSession, SessionPage } from './data.ts'
import { whyNot } from './rights.ts'

interface SessionsProps {
  readonly page: SessionPage
  readonly onReleased: () => void
}

export function Sessions({ page, onReleased }: SessionsProps) {
  const [chosen, setChosen] = useState<OpenSession | null>(null)
  const [isAsked, setAsked] = useState(false)
  const refusal = whyNot('api/releasesessions')
  const close = (outcome: Outcome | null) => {
    setChosen(null)
    setAsked(outcome === 'asked')
    if (outcome !== null) onReleased()
  }
  const columns = [
    { title: t('sessions.id'), cell: (one: OpenSession) => <SessionName session={one} /> },
    { title: t('sessions.reserved'), cell: reservedText, isNumber: true },
    { title: t('sessions.used'), cell: usedText, isNumber: true },
    {
      title: timeHeader(t('sessions.expires')),
      cell: (one: OpenSession) => <Time value={one.expires} />,
    },
    {
      title: t('sessions.action'),
      cell: (one: OpenSession) => (
        <button
          type="button"
          class="danger"
          aria-disabled={refusal !== null}
          title={refusal ?? undefined}
          aria-label={t('sessions.releaseOne', { id: one.session_id })}
          onClick={() => refusal === null && setChosen(one)}
        >
          {t('sessions.release')}
        </button>
      ),
    },
  ]
  return (
    <>
      <Table
        caption={t('sessions.title')}
        columns={columns}
        rows={page.sessions}
        keyOf={(one) => `${one.origin} ${one.session_id}`}
      />
      {isAsked && <p class="mark good">✓ {t('sessions.asked')}</p>}
      {page.next !== null && <p class="muted">{t('sessions.more')}</p>}
      {chosen !== null && <Release session={chosen} onClose={close} />}
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
      return Number(money) === 0 ? units : `${units} (${formatMoney(money as DecimalText)})`
    })
    .join(', ')
}

function usedText({ services }: OpenSession): string {
  return services.map(({ used }) => formatNumber(used)).join(', ')
}

type Outcome = 'asked' | 'ended'

interface ReleaseProps {
  readonly session: OpenSession
  /** Null if nothing was done. */
  readonly onClose: (outcome: Outcome | null) => void
}

/** How a session ends: its network element is asked, or the ledger ends it at once. */
function Release({ session, onClose }: ReleaseProps) {
  const { origin, session_id } = session
  const isDiameter = origin.startsWith('diameter:')
  const initial = { reason: '', how: isDiameter ? 'ask' : 'now' }
  const form = useForm(initial, async ({ reason, how }) => {
    const body = { sessions: [{ session_id, origin }], reason, now: how === 'now' }
    const details = (await call('api/sessions/release' as never, body as never)) as unknown
    const [result] = details as { outcome: Outcome | 'refused'; why?: string }[]
    if (result?.outcome === 'refused') throw new Refusal('refused', 0, result.why ?? '')
    onClose(result?.outcome ?? null)
  })
  const { reason, how } = form.values.value
  const ways = [
    ...(isDiameter ? [{ value: 'ask', label: t('sessions.ask') }] : []),
    { value: 'now', label: t('sessions.now') },
  ]
  return (
    <Dialog title={t('sessions.releaseOne', { id: session_id })} onClose={() => onClose(null)}>
      <p>{t('sessions.effect')}</p>
      <Form form={form} save={t('sessions.release')}>
        <Field
          label={t('sessions.reason')}
          value={reason}
          onValue={(value) => form.set('reason', value)}
          hint={t('sessions.reasonHint')}
          error={form.errorAt('reason')}
          input={{ required: true, autofocus: true, maxLength: 1000 }}
        />
        <Field
          label={t('sessions.how')}
          value={how}
          onValue={(value) => form.set('how', value)}
          choices={ways}
        />
      </Form>
    </Dialog>
  )
}
