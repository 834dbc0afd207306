import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function BatteryDay() {
  return (
    <Page title="BatteryDay">
      <Empty title="This screen is being built" />
    </Page>
  )
}
