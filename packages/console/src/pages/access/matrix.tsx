/** Actions of a collection by the roles that may do them, with check boxes. */
import { useState } from 'preact/hooks'
import { type Grant, sessionUser } from '../../api/session.ts'
import { linkHere, location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn } from '../../parts/columns.tsx'
import { Field } from '../../parts/field.tsx'
import { missingText } from '../../parts/rights.ts'
import { SideNav } from '../../parts/side-nav.tsx'
import { Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { knownRoles } from './roles.tsx'
import { decidingRule, type Edit, hasOwnRule, type Rule } from './rules.ts'

interface MatrixProps {
  /** Empty if the user may not read them. */
  readonly rules: readonly Rule[]
  readonly onEdit: (edit: Edit) => void
}

interface Row {
  readonly collection: string
  readonly action: string
  readonly grant: Grant
  readonly roles: readonly string[]
}

export function RolesMatrix({ rules, onEdit }: MatrixProps) {
  const [more, setMore] = useState<readonly string[]>([])
  const isEditor = missingText('settings/set') === null
  const all = Object.entries(sessionUser.value?.actions ?? {}).map(([name, grant]): Row => {
    const [collection = '', action = ''] = name.split('/')
    const rule = rules[decidingRule(rules, collection, action)]
    const usual = isEditor ? (grant.usual ?? grant.roles) : grant.roles
    return { collection, action, grant, roles: rule?.roles ?? usual }
  })
  const names = [...new Set(all.map(({ collection }) => collection))]
  const named = location.value.query['of'] ?? ''
  const current = names.includes(named) ? named : (names[0] ?? '')
  const roles = knownRoles([...rules.flatMap((rule) => rule.roles), ...more])
  return (
    <SideNav
      label={t('access.collections')}
      names={names}
      current={current}
      addressOf={(of) => linkHere({ of })}
    >
      <div>
        <Table
          caption={t('access.rolesOf', { collection: current })}
          hasCaption
          columns={[
            textColumn<Row>('access.action', ({ action }) => <span class="id">{action}</span>),
            ...roles.map((role) => ({
              title: role,
              cell: (row: Row) => <RoleCell row={row} role={role} onEdit={onEdit} />,
            })),
            textColumn<Row>('access.source', (row) => <Source row={row} {...{ rules, onEdit }} />),
          ]}
          rows={all.filter(({ collection }) => collection === current)}
          keyOf={({ action }) => action}
        />
        <NewRole onAdd={(role) => setMore([...more, role])} />
      </div>
    </SideNav>
  )
}

interface CellProps extends MatrixProps {
  readonly row: Row
}

function RoleCell({ row, role, onEdit }: Omit<CellProps, 'rules'> & { readonly role: string }) {
  const { collection, action, grant, roles } = row
  const missing = missingText('settings/set')
  const isFixed = grant.fixed === true || role === 'admin'
  const toggle = (isOn: boolean) => {
    const others = roles.filter((each) => each !== role && each !== 'admin')
    onEdit({ collection, action, roles: isOn ? [...others, role] : others })
  }
  return (
    <input
      type="checkbox"
      checked={role === 'admin' || roles.includes(role)}
      disabled={isFixed || missing !== null}
      data-action={isFixed ? undefined : 'settings/set'}
      aria-describedby={missing === null ? undefined : 'matrix-missing'}
      aria-label={t('access.roleMay', { role, action: `${collection}/${action}` })}
      onChange={(event) => toggle(event.currentTarget.checked)}
    />
  )
}

/** The source of the roles of an action. */
function Source({ row: { collection, action, grant }, rules, onEdit }: CellProps) {
  if (grant.fixed === true) return <>{t('access.fixed')}</>
  const at = decidingRule(rules, collection, action)
  if (at < 0) {
    const isHidden = missingText('settings/set') !== null && grant.usual !== undefined
    return <>{t(isHidden ? 'access.byRule' : 'access.usual')}</>
  }
  if (!hasOwnRule(rules, collection, action))
    return <>{t('access.sharedRule', { number: at + 1 })}</>
  return (
    <>
      {t('access.ownRule', { number: at + 1 })}{' '}
      <ActionButton
        action="settings/set"
        kind="plain"
        isBrief
        onAct={() => onEdit({ collection, action, roles: null })}
      >
        {t('access.removeRule')}
      </ActionButton>
    </>
  )
}

const ROLE = /^[a-z][a-z0-9_]{0,31}$/

function NewRole({ onAdd }: { readonly onAdd: (role: string) => void }) {
  const [role, setRole] = useState('')
  const isWrong = role !== '' && !ROLE.test(role)
  const add = (event: Event) => {
    event.preventDefault()
    if (!ROLE.test(role)) return
    onAdd(role)
    setRole('')
  }
  return (
    <form class="filter new-role" onSubmit={add}>
      <Field
        label={t('access.newRole')}
        value={role}
        onValue={setRole}
        error={isWrong ? t('access.badRole') : null}
        input={{ autocomplete: 'off', maxLength: 32 }}
      />
      <div class="buttons">
        <ActionButton action="settings/set">{t('access.addRole')}</ActionButton>
      </div>
    </form>
  )
}
