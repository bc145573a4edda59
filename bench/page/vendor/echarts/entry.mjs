// What the page uses of Apache ECharts. `npm ci && npm run bundle` in this folder writes echarts.min.js.
import * as echarts from "echarts/core";
import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendPlainComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

echarts.use([
  CanvasRenderer,
  CustomChart,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  LegendPlainComponent,
  LineChart,
  MarkLineComponent,
  ScatterChart,
  TooltipComponent,
]);
export { init } from "echarts/core";
