/** Names, ids with copy buttons, plan, services and state of a customer. */
import { useState } from 'preact/hooks'
import { useShortcuts } from '../../frame/keys.ts'
import { link, location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { CopyId } from '../../parts/copy.tsx'
import { textIn } from '../../parts/differences.ts'
import { type Fact, Facts } from '../../parts/facts.tsx'
import type { Revision } from '../../parts/revisions.ts'
import { missingText } from '../../parts/rights.ts'
import { Time } from '../../parts/time.tsx'
import { t } from '../../words/words.ts'
import { at, presentRevision } from './as-of.ts'
import type { Customer } from './data.ts'
import { Edit } from './edit.tsx'
import { nameIn, servicesIn, textsIn } from './revisions.ts'

interface HeaderProps {
  readonly customer: Customer
  readonly onChanged: () => void
}

export function Header({ customer, onChanged }: HeaderProps) {
  const { kind, aid, sid, revisions } = customer
  const chosen = at(location.value.query)
  const revision = presentRevision(revisions)
  const name = revision === null ? '' : nameIn(revision)
  const number = String(sid ?? aid)
  return (
    <header class="customer-header">
      <div class="title">
        <h1 tabIndex={-1} dir="auto">
          {name === '' ? t(`customer.${kind}`, { id: number }) : name}
        </h1>
        {revision !== null && (
          <EditButton customer={customer} revision={revision} onChanged={onChanged} />
        )}
      </div>
      {chosen !== null && <p class="muted">{t('customer.headerIsNow')}</p>}
      <Facts facts={factsOf(customer, revision)} />
    </header>
  )
}

interface EditButtonProps extends HeaderProps {
  readonly revision: Revision
}

function EditButton({ customer, revision, onChanged }: EditButtonProps) {
  const [isOpen, setOpen] = useState(false)
  const action = `${customer.kind}s/update`
  const open = () => {
    if (missingText(action) === null) setOpen(true)
  }
  useShortcuts([{ keys: 'e', title: 'keys.edit', run: open }])
  return (
    <>
      <ActionButton action={action} isBrief onAct={open}>
        {t('edit.open')}
      </ActionButton>
      {isOpen && (
        <Edit
          customer={customer}
          revision={revision}
          onSaved={onChanged}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function factsOf({ kind, aid, sid, revisions }: Customer, revision: Revision | null): Fact[] {
  const textOf = (field: string) => (revision === null ? '' : textIn(revision, field))
  const idsOf = (field: string) => ids(revision === null ? [] : textsIn(revision, field))
  const services = revision === null ? [] : servicesIn(revision)
  const account = (
    <>
      <CopyId id={String(aid)} />{' '}
      {kind === 'subscriber' && (
        <a href={link(`customer/aid/${aid}`)}>{t('customer.showAccount')}</a>
      )}
    </>
  )
  return [
    { title: t('customer.sid'), value: ids(sid === null ? [] : [String(sid)]) },
    { title: t('customer.aid'), value: account },
    { title: t('customer.msisdn'), value: idsOf('msisdn') },
    { title: t('customer.imsi'), value: idsOf('imsi') },
    { title: t('customer.email'), value: textOf('email') },
    { title: t('customer.plan'), value: textOf('plan') },
    {
      title: t('customer.services'),
      value: services.map(({ name, quantity }) => serviceText(name, quantity)).join(', '),
    },
    {
      title: t('customer.state'),
      value: <State revision={revision} ended={revisions.at(-1)?.to ?? null} />,
    },
  ]
}

function ids(all: readonly string[]) {
  return all.length === 0 ? null : all.map((id) => <CopyId key={id} id={id} />)
}

function serviceText(name: string, quantity: string): string {
  return quantity === '' || quantity === '1' ? name : `${name} × ${quantity}`
}

interface StateProps {
  /** The present one; null after the end. */
  readonly revision: Revision | null
  readonly ended: string | null
}

/** State by word and mark, not by colour alone. */
function State({ revision, ended }: StateProps) {
  if (revision === null) {
    return (
      <>
        <span class="mark bad">✕ {t('customer.ended')}</span>{' '}
        {ended !== null && <Time value={ended} precision="day" />}
      </>
    )
  }
  const isBarred = revision['barred'] === true
  return (
    <span class={isBarred ? 'mark bad' : 'mark good'}>
      {isBarred ? `✕ ${t('customer.barred')}` : `● ${t('customer.active')}`}
    </span>
  )
}
